"""Rounds of real devices with a real service."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tributary
from conftest import PATIENCE, ROOT, Fleet, Service, failure_of, gradient, regression, until
from tributary import Client, Plan
from tributary.round_work import RoundWork, _next_rest

START = np.zeros(3, np.float32)
FRAMEWORKS = ROOT / "test" / "fixtures" / "frameworks"


def descend(w: Any, x: Any, y: Any, plan: Plan | None = None, center: Any = None, mu: float = 0.0) -> Any:
    """Five steps with a learning rate of 0.1, including what the strategy adds to the gradient."""
    w = w.copy()
    for _ in range(5):
        g = gradient(w, x, y)
        if plan is not None and plan.correction is not None:
            g = g + plan.correction["w"]
        if mu:
            g = g + tributary.proximal_gradient({"w": w}, {"w": center}, mu)["w"]
        w -= (0.1 * g).astype(np.float32)
    return w


def mean(updates: list[tuple[Any, int]]) -> Any:
    """FedAvg: in float64, divided once, then rounded."""
    total = sum(count for _, count in updates)
    return (sum(count * w.astype(np.float64) for w, count in updates) / total).astype(np.float32)


def test_devices_train_exactly_what_numpy_averages(client: Client, fleet: Fleet) -> None:
    client.push("averaged", {"w": START}, "1.0.0")
    data = [regression(seed, 20 + 10 * seed) for seed in range(3)]
    for number, (x, y) in enumerate(data):
        fleet.add(
            f"fedavg-{number}",
            lambda weights, plan, x=x, y=y: ({"w": descend(weights["w"], x, y)}, len(y), {"loss": 1.5}),
        )
    job = client.train("averaged", rounds=3, min_devices=3).wait(timeout=PATIENCE)
    expected = START
    for _ in range(3):
        expected = mean([(descend(expected, x, y), len(y)) for x, y in data])
    np.testing.assert_array_equal(job.weights()["w"], expected)
    assert [(each.status, each.loss, each.completed_devices) for each in job.history] == [("completed", 1.5, 3)] * 3


def test_fedprox_holds_devices_to_the_model_by_mu(client: Client, fleet: Fleet) -> None:
    client.push("proximal", {"w": START}, "1.0.0")
    data = [regression(seed, 20) for seed in range(2)]

    def train(weights: Any, plan: Plan, x: Any, y: Any) -> Any:
        assert (plan.strategy, plan.hyperparameters["mu"], plan.correction) == ("fedprox", 0.5, None)
        return {"w": descend(weights["w"], x, y, center=weights["w"].copy(), mu=plan.hyperparameters["mu"])}, len(y), {}

    for number, (x, y) in enumerate(data):
        fleet.add(f"fedprox-{number}", lambda weights, plan, x=x, y=y: train(weights, plan, x, y))
    job = client.train("proximal", rounds=2, strategy="fedprox", strategy_options={"mu": 0.5}).wait(timeout=PATIENCE)
    expected = START
    for _ in range(2):
        expected = mean([(descend(expected, x, y, center=expected, mu=0.5), 20) for x, y in data])
    np.testing.assert_array_equal(job.weights()["w"], expected)


def test_scaffold_sends_control_variates_down_and_their_change_up(client: Client, fleet: Fleet) -> None:
    client.push("drift", {"w": START, "steps": np.int64(7)}, "1.0.0")
    data = [regression(seed, 20) for seed in range(2)]

    def train(weights: Any, plan: Plan, x: Any, y: Any) -> Any:
        return {**weights, "w": descend(weights["w"], x, y, plan)}, len(y), {"steps": 5, "learning_rate": 0.1}

    for number, (x, y) in enumerate(data):
        fleet.add(f"scaffold-{number}", lambda weights, plan, x=x, y=y: train(weights, plan, x, y))
    until(lambda: len([d for d in client.devices() if d.device_identifier.startswith("scaffold-")]) == 2, "devices")
    client.create_group("drifting", ["scaffold-0", "scaffold-1"])
    job = client.train("drift", rounds=3, strategy="scaffold", group="drifting").wait(timeout=PATIENCE)

    # Karimireddy et al. 2020, algorithm 1, with all devices in each round.
    model, c, own = START, np.zeros(3), [np.zeros(3), np.zeros(3)]
    for _ in range(3):
        updates, changes = [], []
        for number, (x, y) in enumerate(data):
            w = model.copy()
            for _ in range(5):
                w -= (0.1 * (gradient(w, x, y) + c - own[number])).astype(np.float32)
            change = ((model.astype("f8") - w) / 0.5 - c).astype(np.float32).astype("f8")
            own[number] = own[number] + change
            updates.append(w)
            changes.append(change)
        model = (model + np.mean([w.astype("f8") - model for w in updates], axis=0)).astype(np.float32)
        c = c + np.mean(changes, axis=0)
    found = job.weights()
    np.testing.assert_allclose(found["w"], model, rtol=2e-6)
    assert found["steps"] == 7
    assert not np.allclose(model, mean([(w, 1) for w in [descend(START, x, y) for x, y in data]]), rtol=1e-3)


def test_a_personal_model_of_ditto_is_kept_for_the_job_and_never_sent(client: Client, fleet: Fleet) -> None:
    client.push("personal", {"w": START}, "1.0.0")
    seen: list[tuple[float, float]] = []

    def train(weights: Any, plan: Plan) -> Any:
        seen.append((float(plan.personal["w"][0]), plan.hyperparameters["lambda"]))  # type: ignore[index]
        plan.personal["w"] += 1.0  # type: ignore[index]
        return weights, 3, {}

    fleet.add("ditto", train)
    job = client.train("personal", rounds=3, strategy="ditto", strategy_options={"lambda": 0.2}, min_devices=1)
    np.testing.assert_array_equal(job.wait(timeout=PATIENCE).weights()["w"], START)
    assert seen == [(0.0, 0.2), (1.0, 0.2), (2.0, 0.2)]


def test_a_damaged_memory_of_a_job_is_set_aside(
    client: Client, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    client.push("damaged-memory", {"w": START}, "1.0.0")
    seen: list[float] = []

    def train(weights: Any, plan: Plan) -> Any:
        seen.append(float(plan.personal["w"][0]))  # type: ignore[index]
        plan.personal["w"] += 1.0  # type: ignore[index]
        return weights, 3, {}

    def damage(result: tributary.RoundResult) -> None:
        for memory in fleet.folder.glob("devices/*/python-jobs/*") if len(seen) == 1 else []:
            memory.write_bytes(b"")

    fleet.add("damaged-memory", train, on_round=damage)
    job = client.train("damaged-memory", rounds=3, strategy="ditto", min_devices=1).wait(timeout=PATIENCE)
    assert [each.status for each in job.history] == ["completed"] * 3
    assert seen == [0.0, 0.0, 1.0]
    assert f"It was renamed to {next(fleet.folder.glob('devices/*/python-jobs/*.damaged'))}" in caplog.text


def test_fedbuff_takes_an_update_of_an_earlier_round(client: Client, fleet: Fleet) -> None:
    client.push("buffered", {"w": START}, "1.0.0")
    began: dict[str, list[int]] = {"fast": [], "slow": []}

    def train(name: str) -> Any:
        def work(weights: Any, plan: Plan) -> Any:
            assert plan.asynchronous
            began[name].append(plan.round_number)
            if name == "fast":
                until(lambda: began["slow"], "the slow device to begin")
                if len(began["fast"]) == 2:
                    path = f"/training/rounds/{plan.round_id}/updates"
                    until(lambda: list(client.listed(path, "updates")), "the slow device to deliver before the job ends")
            elif len(began["slow"]) == 1:
                until(lambda: len(began["fast"]) >= 2, "the fast device to be in a later round")
            return {"w": weights["w"] + 1}, 1, {}

        return work

    for name in began:
        fleet.add(name, train(name))
    until(lambda: len([d for d in client.devices() if d.device_identifier in began]) == 2, "devices")
    asked = {"strategy": "fedbuff", "strategy_options": {"buffer": 1}, "min_devices": 1, "target_devices": 2}
    job = client.train("buffered", rounds=3, **asked).wait(timeout=PATIENCE)
    paths = [f"/training/rounds/{each.round_id}/updates" for each in job.history]
    updates = [update for path in paths for update in client.listed(path, "updates")]
    late = [update for update in updates if update["staleness"] > 0]
    # The fast device may be late too, behind the slow one.
    assert ("slow", job.history[0].round_id) in [(each["device_identifier"], each["base_round_id"]) for each in late]
    # A change of 1, times (1 + staleness)^-a with the default a of 0.5.
    expected = sum((1 + update["staleness"]) ** -0.5 for update in updates)
    np.testing.assert_allclose(job.weights()["w"], START + expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["npz", "vector", "bfloat16"])
def test_models_of_other_formats_are_trained(client: Client, fleet: Fleet, tmp_path: Path, kind: str) -> None:
    if kind == "npz":
        path = tmp_path / "w.npz"
        np.savez(path, w=START)
    elif kind == "vector":
        path = tmp_path / "w.f32"
        path.write_bytes(START.tobytes())
    else:
        path = tmp_path / "w.safetensors"
        path.write_bytes(tributary.write_weights({"w": START}, {"w": "BF16"}))
    client.push(f"of-{kind}", path, "1.0.0")
    fleet.add(f"of-{kind}", lambda weights, plan: ({name: array + 1.5 for name, array in weights.items()}, 1, {}))
    more = {"raw_vector": True} if kind == "vector" else {}
    job = client.train(f"of-{kind}", rounds=1, min_devices=1, **more).wait(timeout=PATIENCE)
    result = client.pull(job.latest_model_id or "", to=tmp_path / "result")
    found, types = tributary.read_weights(result, raw_vector=kind == "vector")
    assert [array.tolist() for array in found.values()] == [[1.5, 1.5, 1.5]]
    assert list(types.values()) == ["BF16" if kind == "bfloat16" else "F32"]


@pytest.mark.parametrize("kind", ["json", "ubj"])
def test_models_of_xgboost_are_trained_as_the_bytes_of_their_files(
    client: Client, fleet: Fleet, tmp_path: Path, kind: str
) -> None:
    files = {name: (FRAMEWORKS / f"boost_{name}.{kind}").read_bytes() for name in ("model", "a_new", "b_new")}
    given: list[bytes] = []

    def train(model: bytes, plan: Plan) -> Any:
        given.append(model)
        return bytearray(files["b_new"]), 1, {}

    def evaluate(model: bytes) -> Any:
        given.append(model)
        return {"loss": 0.5}

    client.push(f"boost-{kind}", FRAMEWORKS / f"boost_model.{kind}", "1.0.0", framework="xgboost")
    fleet.add(f"boost-a-{kind}", lambda model, plan: (files["a_new"], 1, {}), evaluate=evaluate)
    fleet.add(f"boost-b-{kind}", train)
    job = client.train(f"boost-{kind}", strategy="xgb_bagging", rounds=1, min_devices=2).wait(timeout=PATIENCE)
    # The last one is the result, which is evaluated.
    result = client.pull(job.latest_model_id or "", to=tmp_path / "result").read_bytes()
    assert sorted(given, key=len) == [files["model"], files["model"], result]
    with pytest.raises(ValueError, match="not a weight file"):
        job.weights()


def test_strategies_that_compute_with_arrays_name_a_model_without(client: Client, fleet: Fleet) -> None:
    client.push("no-arrays", FRAMEWORKS / "weights_a.h5", "1.0.0", framework="tensorflow")
    fleet.add("no-arrays", lambda model, plan: (model, 1, {"steps": 1, "learning_rate": 1}))
    client.train("no-arrays", rounds=1, min_devices=1).wait(timeout=PATIENCE)
    job = client.train("no-arrays", strategy="scaffold", rounds=1, min_devices=1)
    assert "not a weight file: expected safetensors" in failure_of(client, job, "no-arrays")


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ((b"a file", 1, {}), "train returned bytes as weights; they must be a dict of arrays by name."),
        (RuntimeError("out of memory"), "RuntimeError: out of memory"),
        (FileNotFoundError("no \0 \udcff.csv"), "FileNotFoundError: no \ufffd \ufffd.csv"),
        (
            ({"v": START}, 1, {}),
            "The weights do not match the model of the round: 'w' is missing, and 'v' is not part of it.",
        ),
        (({"w": START}, 0, {}), "train returned 0 samples; it must be a whole number of at least 1."),
        ({"w": START}, "train must return (weights, num_samples, metrics), got dict."),
        (({"w": START}, 1), "train must return (weights, num_samples, metrics), got a tuple of 2."),
        (
            ({"w": START}, 1, {"loss": "low"}),
            "train must return metrics such as {\"loss\": 0.4}, numbers by name; got {'loss': 'low'}.",
        ),
    ],
)
def test_what_train_does_wrong_is_told_to_the_service(
    client: Client, fleet: Fleet, tmp_path: Path, returned: Any, reason: str
) -> None:
    name = f"wrong-{abs(hash(reason))}"
    client.push(name, {"w": START}, "1.0.0")

    def train(weights: Any, plan: Plan) -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    fleet.add(name, train, rounds=1)
    job = client.train(name, rounds=1, min_devices=1)
    assert failure_of(client, job, name) == reason
    fleet.end()
    assert [type(error) for error in fleet.errors] == [tributary.RoundFailed]
    assert re.sub("[\0\udcff]", "\ufffd", str(fleet.errors.pop())).endswith(reason)


def test_a_device_that_over_selection_cuts_off_has_not_failed_and_continues(
    client: Client, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tributary")
    client.push("enough", {"w": START}, "1.0.0")
    is_closed = threading.Event()
    results: list[tributary.RoundResult] = []

    def train_late(weights: Any, plan: Plan) -> Any:
        assert is_closed.wait(PATIENCE)
        return weights, 1, {}

    def train_until_over(weights: Any, plan: Plan) -> Any:
        if is_closed.is_set():
            return weights, 1, {}
        until(lambda: plan.is_over, "the news of the round's end")
        raise RuntimeError("stopped early")

    fleet.add("cut-off", train_late, rounds=1, on_round=results.append)
    fleet.add("giving-up", train_until_over, rounds=1, on_round=results.append)
    fleet.add("in-time", lambda weights, plan: (weights, 1, {}))
    names = ["cut-off", "giving-up", "in-time"]
    until(lambda: len([d for d in client.devices() if d.device_identifier in names]) == 3, "devices")
    client.create_group("enough", names)
    options: dict[str, Any] = {"target_devices": 1, "over_selection": 3, "group": "enough"}
    job = client.train("enough", rounds=1, min_devices=1, **options).wait(timeout=PATIENCE)
    assert job.status == "completed"
    until(lambda: fleet.errors or "update is not needed: RuntimeError: stopped early" in caplog.text, "the early end")
    is_closed.set()
    until(lambda: fleet.errors or caplog.text.count("update is not needed") == 2, "the end of the late training")
    assert (fleet.errors, results) == ([], [])
    # They continue until their rounds are done.
    client.train("enough", rounds=1, min_devices=3, group="enough").wait(timeout=PATIENCE)
    until(lambda: len(results) == 2, "the rounds of the late devices")


def test_a_round_whose_finished_training_is_damaged_is_trained_again(
    client: Client, service: Service, tmp_path: Path
) -> None:
    client.push("half-stored", {"w": START}, "1.0.0")
    device = tributary.Device(service.url, "half-stored")
    device.register()
    client.create_group("half-stored", ["half-stored"])
    state = tributary.device.State(tmp_path, service.url, "half-stored")
    trained: list[int] = []

    def train(weights: Any, plan: Plan) -> Any:
        trained.append(plan.round_number)
        return weights, 1, {}

    work = RoundWork(train, None, False, state)
    whole = {"num_samples": 1, "metrics": {}, "global_metrics": None, "seconds": 0.5}
    damaged = [whole, {"num_samples": 1}, {**whole, "metrics": 1}, {**whole, "new": 1}]
    job = client.train("half-stored", rounds=4, min_devices=1, group="half-stored")
    for number, finished in enumerate(damaged):
        round_id = until(lambda: device.heartbeat().pending_round_id, "the round")
        folder = state.rounds / round_id
        folder.mkdir()
        (folder / "finished.json").write_text(json.dumps(finished))
        if number > 0:
            (folder / "update").write_bytes(tributary.write_weights({"w": START}))
        work.take_part(device, round_id, 1)
    # A field of a newer version is no damage.
    assert len(trained) == 3
    assert job.wait(timeout=PATIENCE).status == "completed"


def test_evaluate_measures_the_received_model_and_the_next_heartbeat_says_it(client: Client, fleet: Fleet) -> None:
    client.push("evaluated", {"w": START}, "1.0.0")
    results: list[tributary.RoundResult] = []
    fleet.add(
        "evaluating",
        lambda weights, plan: (
            {"w": weights["w"] + 1},
            4,
            {"loss": float("nan"), "accuracy": 0.5, "f1": 0.75, "1st": 1},
        ),
        evaluate=lambda weights: {"loss": float(weights["w"][0]), "accuracy": 0.25},
        on_round=results.append,
    )
    job = client.train("evaluated", rounds=2, min_devices=1).wait(timeout=PATIENCE)
    assert [each.accuracy for each in job.history] == [0.5, 0.5]
    # Without num_samples of its own, an evaluation has the weight of the training, also that of the last model.
    assert [(each.evaluation or {})["num_samples"] for each in job.history] == [4, 4]
    numbers = [each.round_number for each in job.history]
    told = {"round_number": numbers[1], "global_model_loss": 1, "global_model_accuracy": 0.25}
    until(lambda: (client.device("evaluating").metrics or {}) == told, "the heartbeat")
    assert [(each.metrics, each.global_metrics) for each in results] == [
        ({"accuracy": 0.5, "f1": 0.75, "1st": 1.0}, {"loss": 0.0, "accuracy": 0.25}),
        ({"accuracy": 0.5, "f1": 0.75, "1st": 1.0}, {"loss": 1.0, "accuracy": 0.25}),
    ]
    first = client.request("GET", f"/training/rounds/{job.history[0].round_id}/status")
    assert {name: each["mean"] for name, each in first["metrics"].items()} == {"accuracy": 0.5, "f1": 0.75}
    assert {name: each["mean"] for name, each in first["evaluation"]["metrics"].items()} == {
        "accuracy": 0.25,
        "loss": 1,
    }


def test_an_accuracy_that_the_service_does_not_accept_is_left_out_and_the_update_counts(
    client: Client, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    client.push("percent", {"w": START}, "1.0.0")
    fleet.add("percent", lambda weights, plan: (weights, 1, {"loss": 0.5, "accuracy": 93.5}))
    job = client.train("percent", rounds=1, min_devices=1).wait(timeout=PATIENCE)
    assert [(each.status, each.loss, each.accuracy) for each in job.history] == [("completed", 0.5, None)]
    assert "The metric 'accuracy' = 93.5 is not sent" in caplog.text


def test_what_evaluate_does_to_the_weights_does_not_change_what_train_receives(client: Client, fleet: Fleet) -> None:
    client.push("evaluated-in-place", {"w": START}, "1.0.0")

    def evaluate(weights: Any) -> dict[str, float]:
        weights["w"] += 100.0
        return {"first": float(weights["w"][0])}

    fleet.add("in-place", lambda weights, plan: ({"w": weights["w"] + 1}, 1, {}), evaluate=evaluate)
    job = client.train("evaluated-in-place", rounds=2, min_devices=1).wait(timeout=PATIENCE)
    np.testing.assert_array_equal(job.weights()["w"], START + 2)


def test_a_plan_has_the_number_of_rounds_that_its_job_has_completed(client: Client, fleet: Fleet) -> None:
    client.push("counted", {"w": START}, "1.0.0")
    seen: list[int | None] = []

    def train(weights: Any, plan: Plan) -> Any:
        seen.append(plan.rounds_completed)
        return weights, 1, {}

    fleet.add("counted", train)
    for _ in range(2):
        client.train("counted", rounds=2, min_devices=1).wait(timeout=PATIENCE)
    assert seen == [0, 1, 0, 1]


def test_metrics_that_are_not_finite_are_left_out_with_a_warning_and_the_update_counts(
    client: Client, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    client.push("diverged", {"w": START}, "1.0.0")
    fleet.add("diverged", lambda weights, plan: (weights, 1, {"loss": float("nan"), "accuracy": 0.5}))
    job = client.train("diverged", rounds=1, min_devices=1).wait(timeout=PATIENCE)
    assert [(each.status, each.loss, each.accuracy) for each in job.history] == [("completed", None, 0.5)]
    assert "train returned the metric 'loss' = nan, which is not sent" in caplog.text


def test_devices_evaluate_the_last_model_of_a_job(client: Client, fleet: Fleet) -> None:
    client.push("evaluated-last", {"w": START}, "1.0.0")

    def evaluate(weights: Any) -> dict[str, float]:
        if weights["w"][0] == 3:
            raise RuntimeError("the camera is off")
        return {"first": float(weights["w"][0]), "num_samples": 10}

    for name, wrong in (("evaluates", False), ("fails-to-evaluate", True)):
        fleet.add(
            name,
            lambda weights, plan: ({"w": weights["w"] + 1}, 5, {}),
            evaluate=(lambda weights, wrong=wrong: evaluate({"w": weights["w"] + (1 if wrong else 0)})),
        )
    until(lambda: len([d for d in client.devices() if "evaluate" in d.device_identifier]) == 2, "devices")
    client.create_group("evaluating", ["evaluates", "fails-to-evaluate"])
    job = client.train("evaluated-last", rounds=2, group="evaluating").wait(timeout=PATIENCE)
    np.testing.assert_array_equal(job.weights()["w"], START + 2)
    found = client.connection.call("GET", f"/training/rounds/{job.history[-1].round_id}/status")["evaluation"]
    # One of the two devices reported it before the deadline of the step.
    assert (found["metrics"]["first"]["mean"], found["devices"]) == (2.0, 1), found


def test_without_its_package_a_round_with_secure_aggregation_is_refused_with_what_to_install(
    client: Client, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tributary.secure_part", None)
    client.push("secret", {"w": START}, "1.0.0")
    names = [f"secure-{number}" for number in range(3)]
    for name in names:
        fleet.add(name, lambda weights, plan: (weights, 1, {}))
    until(lambda: len([d for d in client.devices() if d.device_identifier in names]) == 3, "devices")
    client.create_group("secure", names)
    job = client.train("secret", rounds=1, min_devices=3, group="secure", secure_aggregation={})
    # The round may be over before the last of them has reported it.
    assert any(failure_of(client, job, name).endswith(": pip install cryptography") for name in names)


@pytest.mark.parametrize("interval", [1.0, 20.0, 90.0, 300.0, 3600.0])
def test_no_heartbeat_comes_too_late_during_training(interval: float) -> None:
    rests = [min(2.0, interval)]
    for _ in range(12):
        rests.append(_next_rest(rests[-1], interval))
    # The service takes a device for gone after three times its latest interval, and at least a minute.
    assert all(later < 3 * max(20, rest) for rest, later in zip(rests, rests[1:])), rests
    assert rests[-1] == interval
