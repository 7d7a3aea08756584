"""Secure aggregation: the protocol's test vectors, what a device refuses, and rounds with a real service."""

from __future__ import annotations

import itertools
import json
import logging
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tributary
from conftest import BUILT, PATIENCE, ROOT, Fleet, Service, failure_of, until
from proxy import Fault, Proxy
from tributary import Client, Plan

pytest.importorskip("cryptography", reason="secure aggregation needs the package cryptography")

from tributary import secure_part as steps
from tributary import secure_primitives as primitives
from tributary.secure_primitives import Route

#: The same file as the TypeScript tests use.
KNOWN = json.loads((ROOT / "src" / "secure-aggregation" / "fixtures" / "test-vectors.json").read_text())
ROUND, DEVICES = KNOWN["roundId"], KNOWN["devices"]
SETTINGS = {{"maxWeight": "max_weight"}.get(name, name): value for name, value in KNOWN["settings"].items()}

OpenProxy = Callable[[Fault], Proxy]


def unhex(text: str) -> bytes:
    return bytes.fromhex(text)


#: Products in GF(256), and with them the service's side of Shamir's scheme.
TIMES = primitives._times(np.arange(256, dtype=np.uint8)[:, None], np.arange(256, dtype=np.uint8))


def combine(shares: list[bytes]) -> bytes:
    """The polynomial at 0, by Lagrange's formula."""
    secret = np.zeros(primitives.KEY_BYTES, np.uint8)
    for share in shares:
        basis = 1
        for other in shares:
            if other is not share:
                inverse = np.flatnonzero(TIMES[share[-1] ^ other[-1]] == 1)[0]
                basis = TIMES[basis, TIMES[other[-1], inverse]]
        secret ^= TIMES[basis, np.frombuffer(share[:-1], np.uint8)]
    return secret.tobytes()


def advertised(device: str) -> steps.Part:
    secrets = [unhex(DEVICES[device]["secrets"][name]) for name in ("encryption", "masking", "seed")]
    return steps.advertise(ROUND, device, SETTINGS, lambda length: secrets.pop(0))


def test_keys_masks_and_commitments_are_those_of_the_test_vectors() -> None:
    for name, known in DEVICES.items():
        keys = {"encryption_key": known["keys"]["encryptionKey"], "masking_key": known["keys"]["maskingKey"]}
        assert advertised(name)["message"] == keys
        seed = unhex(known["secrets"]["seed"])
        assert primitives.self_mask(ROUND, name, seed) == (unhex(known["selfMask"]), 1)
        assert primitives.seed_commitment(ROUND, name, seed).hex() == known["commitment"]
    for pair, key in KNOWN["pairMasks"].items():
        for device, peer, sign in [(*pair.split(" "), 1), (*reversed(pair.split(" ")), -1)]:
            secret, public = unhex(DEVICES[device]["secrets"]["masking"]), unhex(DEVICES[peer]["keys"]["maskingKey"])
            assert primitives.pair_mask(ROUND, device, secret, peer, public) == (unhex(key), sign)


def test_encrypted_shares_are_those_of_the_test_vectors_from_both_ends() -> None:
    known = KNOWN["sealed"]
    route = Route(ROUND, known["from"], known["to"])
    for device, peer in [(route.sender, route.receiver), (route.receiver, route.sender)]:
        secret, public = unhex(DEVICES[device]["secrets"]["encryption"]), unhex(DEVICES[peer]["keys"]["encryptionKey"])
        assert primitives.share_key(route, device, secret, public).hex() == known["key"]
    key, pair = unhex(known["key"]), (unhex(known["maskingKey"]), unhex(known["selfMask"]))
    assert primitives.seal_shares(key, route, pair, unhex(known["nonce"])).hex() == known["bytes"]
    assert primitives.open_shares(key, route, unhex(known["bytes"])) == pair


def test_any_shares_of_the_threshold_give_the_secret_and_fewer_do_not() -> None:
    secret = unhex(KNOWN["shamir"]["secret"])
    for two in itertools.permutations(map(unhex, KNOWN["shamir"]["shares"]), 2):
        assert combine(list(two)) == secret
    dealt = primitives.split_secret(secret, 5, 3)
    assert len({share[-1] for share in dealt} - {0}) == 5
    assert {combine(list(three)) for three in itertools.combinations(dealt, 3)} == {secret}
    assert combine(dealt[:2]) != secret
    assert combine(primitives.split_secret(secret, 255, 255)) == secret


def test_masked_vectors_are_those_of_the_test_vectors() -> None:
    parts = {name: advertised(name) for name in DEVICES}
    roster = {name: part["message"] for name, part in parts.items()}
    dealt = {name: steps.deal_shares(part, roster) for name, part in parts.items()}
    for name, known in DEVICES.items():
        given = known["input"]
        changes = [np.array(given["delta"])]
        words, clipped = steps.encode(changes, given["numSamples"], SETTINGS, given["loss"], given["accuracy"])
        assert (words.tolist(), clipped) == (given["words"], 1)
        steps.mask_input(dealt[name], received(dealt, name), words)
        assert words.tolist() == known["masked"]


def test_rounding_and_clipping_at_the_limits() -> None:
    settings = {"devices": 3, "threshold": 2, "range": 8, "max_weight": 1}
    step = 2.0**-26
    values = np.array([0.5 * step, -0.5 * step, 0.49999999999999994 * step, 1.5 * step, 8, 9, -1e300])
    words, clipped = steps.encode([values], 5, settings, loss=1e300)
    top = 8 * 2**26
    assert words[:7].view(np.int32).tolist() == [1, 0, 0, 2, top, top, -top]
    assert (clipped, words[7:].tolist()) == (2, [1, 1, 1024 * 2**19, 0, 0])
    with pytest.raises(tributary.TributaryError, match="Tensor 'w' of the update is nan at element 1. Lower"):
        list(steps.changes_of({"w": np.zeros(2)}, {"w": np.array([0, np.nan])}))


def received(dealt: dict[str, steps.Part], name: str) -> dict[str, str]:
    return {peer: part["message"]["sealed"][name] for peer, part in dealt.items() if peer != name}


class Cohort:
    """Four devices; at least three must stay."""

    def __init__(self) -> None:
        self.settings = {"devices": 4, "threshold": 3, "range": 8, "max_weight": 1}
        self.advertised = {name: steps.advertise("round", name, self.settings) for name in "abcd"}
        self.roster = {name: part["message"] for name, part in self.advertised.items()}
        self.dealt = {name: steps.deal_shares(part, self.roster) for name, part in self.advertised.items()}
        self.received = received(self.dealt, "a")
        self.masked = steps.mask_input(self.dealt["a"], self.received, np.zeros(3, "<u4"))


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return Cohort()


def refuses(message: str) -> Any:
    return pytest.raises(tributary.TributaryError, match=message)


def test_a_device_refuses_settings_with_which_a_service_could_learn_its_update() -> None:
    good = {"devices": 4, "threshold": 3, "range": 8, "max_weight": 1}
    assert steps.checked_settings({**good, "other": 1}) == good
    wrong: list[tuple[str, Any, str]] = [
        ("threshold", 2, "from 3 .more than half. to 4"),
        ("threshold", 5, "to 4"),
        ("threshold", 3.5, "whole number"),
        ("threshold", None, "whole number"),
        ("devices", 1, "of 1 devices cannot be secure"),
        ("devices", 256, "of 256 devices"),
        ("range", 0, "greater than 0"),
        ("range", float("nan"), "greater than 0"),
        ("range", 2**21, "at most 1048576"),
        ("max_weight", 0, "from 1 to 1000000"),
        ("max_weight", 1.5, "from 1 to 1000000"),
    ]
    for name, value, message in wrong:
        with refuses(message):
            steps.checked_settings({**good, name: value})


def test_a_device_deals_no_shares_to_a_wrong_roster(cohort: Cohort) -> None:
    a, b, c, d = cohort.roster.values()
    other = steps.advertise("round", "e", cohort.settings)["message"]
    for roster, message in [
        ({**cohort.roster, "a": other}, "does not have the keys that this device advertised"),
        ({"b": b, "c": c, "d": d}, "does not have the keys"),
        ({"a": a, "b": b}, "has 2 devices; this device agreed to between 3 and 4"),
        ({**cohort.roster, "e": other}, "has 5 devices"),
        ({**cohort.roster, "c": b}, "a public key twice, the second time for 'c'"),
        ({**cohort.roster, "c": {**c, "encryption_key": c["masking_key"]}}, "twice, the second time for 'c'"),
        ({**cohort.roster, "c": {**c, "masking_key": "ab"}}, "must be 32 bytes"),
        ({**cohort.roster, "c": {**c, "encryption_key": "00" * 32}}, "of device 'c' is not valid for key agreement"),
    ]:
        with refuses(message):
            steps.deal_shares(cohort.advertised["a"], roster)
    with refuses("No step is repeated"):
        steps.deal_shares(cohort.dealt["a"], cohort.roster)
    # Later services may add fields.
    extended = {name: {**keys, "more": 1} for name, keys in cohort.roster.items()}
    assert steps.deal_shares(cohort.advertised["a"], extended)["step"] == "shared"


def test_a_device_masks_nothing_if_shares_are_wrong(cohort: Cohort) -> None:
    sealed, words = cohort.received["b"], np.arange(3, dtype="<u4")
    changed = [
        ({"b": sealed[:at] + f"{int(sealed[at], 16) ^ 1:x}" + sealed[at + 1 :]}, "from device 'b' for 'a' cannot be")
        for at in (0, 47, 48, 100, len(sealed) - 1)
    ]
    elsewhere = steps.deal_shares({**cohort.advertised["b"], "round_id": "other"}, cohort.roster)
    for replaced, message in [
        *changed,
        ({"b": sealed[2:]}, "must be 106 bytes in lowercase hex"),
        ({"b": sealed.upper()}, "must be 106 bytes in lowercase hex"),
        ({"b": cohort.dealt["b"]["message"]["sealed"]["c"]}, "cannot be decrypted"),
        ({"b": cohort.received["c"]}, "cannot be decrypted"),
        ({"b": elsewhere["message"]["sealed"]["a"]}, "cannot be decrypted"),
        ({"a": sealed}, "There are shares from 'a', to which this device sent none"),
        ({"e": sealed}, "There are shares from 'e'"),
    ]:
        with refuses(message):
            steps.mask_input(cohort.dealt["a"], {**cohort.received, **replaced}, words)
    with refuses("Only 2 devices sent shares; this device agreed to no fewer than 3"):
        steps.mask_input(cohort.dealt["a"], {"b": sealed}, words)
    assert words.tolist() == [0, 1, 2]
    with refuses("No step is repeated"):
        steps.mask_input(cohort.masked, cohort.received, words)


def test_a_device_never_reveals_both_shares_of_a_device(cohort: Cohort) -> None:
    first = steps.reveal_shares(cohort.masked, ["a", "b", "c"])
    message = first["message"]
    assert (sorted(message["self_masks"]), sorted(message["masking_keys"])) == (["a", "b", "c"], ["d"])
    assert steps.reveal_shares(first, ["c", "a", "b", "b"]) is first
    for names in ("abcd", "abd"):
        with refuses("has already revealed shares for another list"):
            steps.reveal_shares(first, names)
    # Its own secrets, and the shares that it did not reveal, are deleted.
    assert sorted(cohort.masked) == ["device", "held", "round_id", "settings", "step"]
    assert sorted(first) == ["delivered", "device", "message", "round_id", "settings", "step"]
    for names, reason in [
        ("ab", "reveals nothing below 3"),
        ("aab", "reveals nothing below 3"),
        ("bcd", "is missing from the list"),
        ("abcde", "'e' is listed as having submitted, but it sent no shares"),
    ]:
        with refuses(reason):
            steps.reveal_shares(cohort.masked, names)
    with refuses("No step is repeated"):
        steps.reveal_shares(cohort.dealt["a"], "abcd")


#: UTF-16 sorts the name outside the first plane before the other one, UTF-8 after it.
HALF, WIDE = "\uff5e", "\U0001f600"
MODEL: Any = {
    "w": np.array([0.5, -2, 3], np.float32),
    HALF: np.array([[1, 2]], np.float16),
    WIDE: np.array([5.0]),
    "steps": np.int64(7),
}


def change(number: int, weights: Any) -> Any:
    """What device `number` trains; the same in each round."""
    random = np.random.default_rng(number)
    shift = random.normal(size=3)
    # A change of more than the range of 8 is clipped.
    w = weights["w"] + np.where(np.arange(3) == number, 20, shift).astype(np.float32)
    half = weights[HALF] + random.normal(size=(1, 2)).astype(np.float16)
    return {"w": w, HALF: half, WIDE: weights[WIDE] + random.normal(), "steps": weights["steps"] + 1}


def constantly(number: int) -> Any:
    return lambda weights, plan: (change(number, weights), 1, {"loss": 1})


def plain(model: Any, updates: list[tuple[Any, int]], devices: int, max_weight: int = 1) -> Any:
    """The mean of the updates in fixed point, if `devices` were selected."""
    bits = int(np.log2((2**31 - 1) // devices / (8 * max_weight)))
    total = sum(weight for _, weight in updates)
    result = dict(model)
    for name in ("w", HALF, WIDE):
        changes = [(np.clip(update[name].astype("f8") - model[name], -8, 8), weight) for update, weight in updates]
        words = sum(np.floor(change * weight * 2.0**bits + 0.5).astype(int) for change, weight in changes)
        result[name] = (model[name] + words / 2.0**bits / total).astype(model[name].dtype)
    return result


#: The paths of a device's messages.
MESSAGES = ("/keys", "/shares", "/updates", "/unmask")


def start(client: Client, names: list[str], **options: Any) -> tributary.Job:
    """A job of exactly these devices, once all are there."""
    until(lambda: {d.device_identifier for d in client.devices()} >= set(names), "the devices")
    client.push(names[0], MODEL, "1.0.0")
    client.create_group(names[0], names)
    options = {"target_devices": len(names), "min_devices": 2, "rounds": 1, **options}
    return client.train(names[0], group=names[0], **options)


def assert_same(found: Any, expected: Any) -> None:
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)


def test_the_service_learns_exactly_the_sum_even_if_every_answer_is_lost_once(
    client: Client, fleet: Fleet, bad_network: OpenProxy
) -> None:
    losing = bad_network(lambda _, path, before: "lose" if path.endswith(MESSAGES) and before == 0 else None)

    def is_repeated(path: str) -> bool:
        posts = [number for number, (_, asked, _) in enumerate(losing.asked) if asked == path]
        return len(posts) > 1 and any(asked.endswith("/secure") for _, asked, _ in losing.asked[posts[1] :])

    def hold(method: str, path: str, before: int) -> None:
        # The step of the repeated message is not over yet, except that of the updates.
        if path.endswith(MESSAGES) and not path.endswith("/updates"):
            until(lambda: is_repeated(path), "the other device to repeat its message")

    proxies = {0: losing, 1: bad_network(hold)}
    names, trained = [f"summed-{number}" for number in range(3)], [2, 7, 50]
    results: list[tributary.RoundResult] = []

    def train(number: int) -> Any:
        def work(weights: Any, plan: Plan) -> Any:
            assert plan.secure
            return change(number, weights), trained[number], {"loss": number / 4, "accuracy": 0.5, "f1": 0.25}

        return work

    for number, name in enumerate(names):
        options = {"url": proxies[number].url} if number in proxies else {}
        # The metrics of `evaluate` are those of a single device.
        fleet.add(name, train(number), evaluate=lambda weights: 1 / 0, on_round=results.append, **options)
    job = start(client, names, rounds=2, secure_aggregation={"max_weight": 10, "threshold": 3}).wait(timeout=PATIENCE)
    expected: Any = MODEL
    for _ in range(2):
        expected = plain(expected, [(change(number, expected), min(10, trained[number])) for number in range(3)], 3, 10)
    assert_same(job.weights(), expected)
    loss = (7 * 0.25 + 10 * 0.5) / 19
    assert [(each.completed_devices, each.accuracy) for each in job.history] == [(3, 0.5)] * 2
    np.testing.assert_allclose([each.loss or 0 for each in job.history], loss, rtol=1e-5)
    for each in job.history:
        seen = [
            (update["num_samples"], update["local_loss"], update["norm"])
            for update in client.listed(f"/training/rounds/{each.round_id}/updates", "updates")
        ]
        assert seen == [(1, None, None)] * 3
    until(lambda: len(results) == 6, "the results")
    assert sorted(result.num_samples for result in results) == sorted(trained * 2)
    # No secrets are left behind.
    assert list(fleet.folder.glob("devices/*/python-rounds/*")) == []


def test_interrupted_devices_continue_from_their_folders_unless_they_were_submitting(
    client: Client, fleet: Fleet, bad_network: OpenProxy
) -> None:
    names = [f"interrupted-{step}" for step in ("keys", "shares", "unmask", "updates")]
    trained: list[str] = []

    def train(number: int) -> Any:
        def work(weights: Any, plan: Plan) -> Any:
            trained.append(names[number])
            files = list(fleet.folder.glob("devices/*/python-rounds/*/secure.json"))
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
            return change(number, weights), 1, {}

        return work

    for number, name in enumerate(names):
        step = name.split("-")[1]
        fleet.add(name, train(number), url=bad_network(refusing(step)).url)
    job = start(client, names, secure_aggregation={"threshold": 3}).wait(timeout=PATIENCE)
    assert_same(job.weights(), plain(MODEL, [(change(number, MODEL), 1) for number in range(3)], 4))
    assert "was interrupted while submitting its masked update" in failure_of(client, job, "interrupted-updates")
    assert sorted(trained) == sorted(names)
    until(lambda: not list(fleet.folder.glob("devices/*/python-rounds/*/secure.json")), "all secrets to be deleted")


def refusing(step: str) -> Fault:
    """More refusals than a call retries: the round is then tried again."""
    return lambda method, path, before: "503" if path.endswith(f"/{step}") and before < 9 else None


def test_a_device_is_not_needed_once_the_others_reveal_their_shares(
    client: Client, fleet: Fleet, bad_network: OpenProxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tributary")
    names = ["unneeded-late", "unneeded-1", "unneeded-2"]

    def fault(method: str, path: str, before: int) -> None:
        if path.endswith("/unmask"):
            until(lambda: "update is not needed" in caplog.text, "the late device to be told")

    proxy = bad_network(fault)

    def train_late(weights: Any, plan: Plan) -> Any:
        until(lambda: any(path.endswith("/unmask") for _, path, _ in proxy.asked), "the others to reveal shares")
        return weights, 1, {}

    fleet.add(names[0], train_late)
    for number in (1, 2):
        fleet.add(names[number], constantly(number), url=proxy.url)
    options = {"target_devices": 2, "over_selection": 1.5, "secure_aggregation": {"threshold": 2}}
    job = start(client, names, **options).wait(timeout=PATIENCE)
    assert_same(job.weights(), plain(MODEL, [(change(number, MODEL), 1) for number in (1, 2)], 3))


JAVASCRIPT = """
    const [library, url, name] = process.argv.slice(1)
    const { createDevice, takePart } = await import(library)
    const device = createDevice({ baseUrl: url, deviceId: name })
    await device.register()
    const train = async (model) => {
      const weights = model.slice()
      const start = 8 + Number(new DataView(weights.buffer).getBigUint64(0, true))
      const numbers = new Float32Array(weights.slice(start, start + 12).buffer)
      numbers.forEach((value, i) => { numbers[i] = value + i / 3 })
      weights.set(new Uint8Array(numbers.buffer), start)
      return { weights, report: { numSamples: 1, localLoss: 4 } }
    }
    for (;;) {
      const { pendingRoundId } = await device.heartbeat({}, { waitSeconds: 20 })
      if (pendingRoundId === null || pendingRoundId === undefined) continue
      await takePart(device, pendingRoundId, train)
      break
    }
"""


@pytest.fixture
def javascript(service: Service, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Starts devices of the JavaScript SDK; each takes part in one round."""
    programs: list[subprocess.Popen[str]] = []

    def add(name: str) -> None:
        library = str(ROOT / "dist" / "sdk" / "index.js") if BUILT.exists() else str(ROOT / "src" / "sdk" / "index.ts")
        command = ["node", *([] if BUILT.exists() else ["--import", "tsx"]), "--input-type=module", "-e", JAVASCRIPT]
        programs.append(
            subprocess.Popen([*command, library, service.url, name], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        )

    yield add
    for program in programs:
        _, errors = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0, errors


REFUSAL = '403 {"error": "forbidden", "message": "not today", "status_code": 403}'


def lie(path: str) -> str:
    """A state with a threshold of half of the devices."""
    settings = {"devices": 4, "threshold": 2, "range": 8, "max_weight": 1}
    state: dict[str, Any] = {name: None for name in tributary.device.SECURE_FIELDS}
    state |= {"round_id": path.split("/")[-2], "status": "advertising", "settings": settings, "device_id": "a"}
    return f"200 {json.dumps(state)}"


@pytest.mark.parametrize("leaves_at", [None, "keys", "shares", "updates", "unmask"])
def test_python_and_javascript_devices_have_one_sum_whichever_step_one_of_them_leaves_at(
    client: Client,
    fleet: Fleet,
    bad_network: OpenProxy,
    javascript: Callable[[str], None],
    leaves_at: str | None,
) -> None:
    names = [f"mixed-{kind}-{leaves_at}" for kind in ("leaving", "1", "2", "javascript")]

    def fault(method: str, path: str, before: int) -> str | None:
        if leaves_at is None and path.endswith("/unmask"):
            round_path = f"/training/rounds/{path.split('/')[-3]}/status"
            until(lambda: client.request("GET", round_path)["status"] != "active", "the others to suffice")
        if leaves_at == "keys":
            return lie(path) if path.endswith("/secure") else None
        return REFUSAL if leaves_at is not None and path.endswith(f"/{leaves_at}") else None

    results: list[tributary.RoundResult] = []
    proxy = bad_network(fault)
    javascript(names[3])
    for number, name in enumerate(names[:3]):
        more = {"url": proxy.url, "on_round": results.append} if number == 0 else {}
        fleet.add(name, constantly(number), **more)
    job = start(client, names, secure_aggregation={"threshold": 3}).wait(timeout=PATIENCE)
    updates = [(change(number, MODEL), 1) for number in range(3)]
    updates.append(({**MODEL, "w": (MODEL["w"] + np.arange(3) / 3).astype(np.float32)}, 1))
    is_missing = leaves_at in ("keys", "shares", "updates")
    assert_same(job.weights(), plain(MODEL, updates[1:] if is_missing else updates, 4))
    assert job.history[0].loss == (2 if is_missing else 1.75)
    if leaves_at is None:
        until(lambda: results, "the device whose shares were not needed to be done")
    if is_missing:
        told = failure_of(client, job, names[0])
        assert ("more than half" if leaves_at == "keys" else "not today") in told
