"""The API client."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tributary
from conftest import PATIENCE, Fleet, Service
from proxy import Fault, Proxy
from tributary import Client, TributaryError
from tributary.client import text_curve

START = {"w": np.zeros((2, 2), np.float32)}
#: What a captive portal answers.
PORTAL = '200 {"portal": "sign in"}'


def test_a_version_is_pushed_once_and_pulled_whole(client: Client, tmp_path: Path) -> None:
    version = client.push("pushed", START, "1.0.0", description="zeros")
    assert (version.version, version.version_label, version.model_size_bytes) == (
        1,
        "1.0.0",
        len(tributary.write_weights(START)),
    )
    assert client.push("pushed", START, "1.0.0") == client.model("pushed").versions[0]
    with pytest.raises(TributaryError) as refused:
        client.push("pushed", {"w": np.ones(1)}, "1.0.0")
    assert (refused.value.code, refused.value.status) == ("conflict", 409)
    assert client.push("pushed", {"w": np.ones(1)}, metadata={"accuracy": np.float32(0.5), "tuned": True}).metadata == {
        "accuracy": 0.5,
        "tuned": True,
    }
    recorded = client.push("pushed", START, "1.0.0", metadata={"épochs": 3, "dataset": "ü"})
    assert recorded == client.model("pushed").versions[0]
    assert recorded.metadata == {"épochs": 3, "dataset": "ü"}
    with pytest.raises(ValueError, match="'loss'.* must be a finite number, not nan"):
        client.push("pushed", START, "1.0.0", metadata={"loss": float("nan")})
    assert client.promote("pushed", 1, "production") == "1.0.0"
    assert client.weights("pushed", "production")["w"].shape == (2, 2)
    path = client.pull("pushed", "1.0.0", to=tmp_path)
    assert path.read_bytes() == tributary.write_weights(START)
    np.testing.assert_array_equal(client.weights("pushed")["w"], [1.0])
    assert [each.name for each in client.models() if each.name == "pushed"] == ["pushed"]
    with pytest.raises(TributaryError, match="has the alias 'production'") as refused:
        client.delete_version("pushed", 1)
    assert refused.value.status == 409
    client.delete_version("pushed", "2.0.0")
    assert [each.version for each in client.model("pushed").versions] == [1]


def test_a_version_is_pulled_in_another_format(client: Client, tmp_path: Path) -> None:
    fixtures = Path(__file__).parents[3] / "test" / "fixtures"
    client.push("converted", fixtures / "from-keras" / "residual.keras", "1.0.0")
    path = client.pull("converted", to=tmp_path, format="onnx")
    assert path.suffix == ".onnx"
    assert b"MatMul" in path.read_bytes() or b"Gemm" in path.read_bytes()
    with pytest.raises(TributaryError, match="cannot be converted to pytorch") as refused:
        client.pull("converted", to=tmp_path, format="pytorch")
    assert refused.value.status == 404


def test_what_is_no_file_of_weights_is_refused_or_warned_of(
    client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module = SimpleNamespace(state_dict=dict)
    for given, message in (([START["w"]], "not list"), (module, r"a PyTorch model: pass its state_dict\(\)")):
        with pytest.raises(ValueError, match=f"weights must be the path of a file, or a dict .*{message}"):
            client.push("no-file", given, "1.0.0")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="There is no file missing.pt"):
        client.push("no-file", "missing.pt", "1.0.0")
    with pytest.raises(TributaryError, match="not found|does not exist"):
        client.model("no-file")
    (tmp_path / "notes.pt").write_text("hello")
    client.push("notes", tmp_path / "notes.pt", "1.0.0")
    assert "training jobs cannot average it" in caplog.text


def test_a_large_file_goes_up_from_where_it_stopped(
    client: Client, bad_network: Callable[[Fault], Proxy], tmp_path: Path
) -> None:
    proxy = bad_network(lambda method, path, before: "cut upload" if method == "PATCH" and before == 0 else None)
    through = Client(proxy.url, client.connection.key)
    path = tmp_path / "large.safetensors"
    path.write_bytes(tributary.write_weights({"w": np.random.default_rng(0).normal(size=3_000_000).astype("f4")}))
    through.push("large", path, "1.0.0")
    assert [method for method, asked, _ in proxy.asked if "/uploads/" in asked].count("PATCH") == 2
    assert client.pull("large", to=tmp_path / "back").read_bytes() == path.read_bytes()


def test_a_job_shows_its_progress_and_its_curve(client: Client, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    client.push("curve", START, "1.0.0")
    losses = iter([1.0, 0.5, 0.25, 0.125])
    fleet.add(
        "curve",
        lambda weights, plan: (weights, 1, {"loss": (loss := next(losses)), "f1": 1 - loss}),
        evaluate=lambda weights: {"f1": 7},
    )
    monkeypatch.setattr(sys, "stderr", shown := io.StringIO())
    job = client.train("curve", rounds=3, min_devices=1).wait(timeout=PATIENCE, progress=True)
    assert shown.getvalue().endswith(f"{'█' * 24} 3/3 completed, loss 0.2500\n")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert job.plot().splitlines()[0] == f"{1:10} ┤●  "
    listed = client.jobs(model="curve")
    assert [each.id for each in listed] == [job.id]
    assert listed[0].plot() == job.plot()
    assert [line.split("┤")[0].strip() for line in job.plot("f1").splitlines()[:10:9]] == ["0.75", "0"]
    assert job.plot("evaluation.f1").splitlines()[9].startswith(f"{7:10} ┤●")
    with pytest.raises(ValueError, match="has no accuracy to show yet"):
        job.plot("accuracy")
    with pytest.raises(ValueError, match="has no round_id to show yet"):
        job.plot("round_id")
    assert job.extend(1).wait(timeout=PATIENCE).rounds_completed == 4


def test_a_job_that_is_stopped_raises_its_reason(client: Client) -> None:
    client.push("stopped", START, "1.0.0")
    job = client.train("stopped", rounds=3, min_devices=5)
    assert job.stop().status == "stopped"
    with pytest.raises(TributaryError, match="stopped") as caught:
        job.wait()
    assert (caught.value.code, caught.value.is_passing) == ("job_stopped", False)
    with pytest.raises(ValueError, match="no round has been completed"):
        job.weights()
    assert job.resume().ended_by is None
    assert job.stop().status == "stopped"
    with pytest.raises(TributaryError, match="stopped.* cannot be extended|only a completed job"):
        job.extend(2)


def test_versions_are_delivered_to_groups_step_by_step_or_at_once(
    client: Client, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(2):
        tributary.Device(service.url, f"delivered-{number}").register(trains=False)
    client.push("delivered", START, "1.0.0")
    group = client.create_group("delivered", ["delivered-0", "delivered-1"])
    assert (group.device_count, len(group.devices())) == (2, 2)
    rollout = client.roll_out("delivered", "1.0.0", 10, group="delivered", increment_step=40, step_interval_minutes=60)
    assert (rollout.status, rollout.percentage) == ("active", 10)
    assert (rollout.pause("a look").status, rollout.resume().status, rollout.advance().percentage) == (
        "paused",
        "active",
        50,
    )
    assert rollout.rollback("enough").status == "rolled_back"
    assert [each.rollout_id for each in client.rollouts("delivered")] == [rollout.rollout_id]
    deployment = client.deploy("delivered", "1.0.0", devices=["delivered-0"], strategy="immediate")
    assert (deployment.status, deployment.target_count) == ("started", 1)
    assert [each.deployment_id for each in client.deployments("delivered")] == [deployment.deployment_id]
    assert client.rollback(deployment.deployment_id).status == "rolled_back"
    with caplog.at_level(logging.WARNING, "tributary"):
        client.deploy("delivered", "9.9.9", devices=["delivered-0"])
    assert "Version 9.9.9 has not been uploaded yet: devices get nothing until it is." in caplog.text
    assert group.remove(["delivered-1"]).device_count == 1
    assert {"delivered-0", "delivered-1"} <= {each.device_identifier for each in client.devices()}


def test_what_does_not_exist_or_is_not_allowed_is_an_error_with_a_code(client: Client, service: Service) -> None:
    for ask in (client.model, client.pull, client.weights):
        with pytest.raises(TributaryError, match="no-such-model") as caught:
            ask("no-such-model")
        assert (caught.value.code, caught.value.status, str(caught.value)) == ("not_found", 404, caught.value.message)
    with pytest.raises(TributaryError) as refused:
        Client(service.url, "no-such-key").pull("no-such-model")
    assert (refused.value.code, refused.value.status) == ("unauthorized", 401)
    for name in ("a/b", "l" * 300, "n\0l"):
        with pytest.raises(TributaryError) as named:
            client.push(name, START)
        assert (named.value.code, named.value.status) == ("bad_request", 400)


def test_the_weights_of_a_raw_vector_are_its_numbers(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "vector.f32"
    path.write_bytes(np.array([1.5, -2.0], "<f4").tobytes())
    client.push("raw-vector", path)
    np.testing.assert_array_equal(client.weights("raw-vector")["vector"], [1.5, -2.0])


def test_numpy_numbers_are_sent_as_numbers(client: Client) -> None:
    client.push("numpy-numbers", START)
    options = {"strategy": "fedprox", "strategy_options": {"mu": np.float32(0.5)}}
    job = client.train("numpy-numbers", rounds=np.int64(3), min_devices=9, **options)
    assert (job.stop().rounds, job.strategy_options["mu"]) == (3, 0.5)
    with pytest.raises(TypeError, match="cannot be sent as JSON"):
        client.train("numpy-numbers", hyperparameters={"a": object()})


def test_a_misspelled_setting_of_a_job_is_refused_and_the_defaults_are_the_services(client: Client) -> None:
    client.push("misspelled", START)
    for wrong, right in (("min_device", "min_devices"), ("round", "rounds"), ("stragegy", "strategy")):
        with pytest.raises(TributaryError, match=f"did you mean `{right}`"):
            client.train("misspelled", **{wrong: 9})
    job = client.train("misspelled").stop()
    assert (job.rounds, job.strategy, job.min_devices) == (10, "fedavg", 2)


def test_devices_that_a_group_does_not_take_are_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    assert client.create_group("unknown", ["no-such-device"]).device_count == 0
    assert "Group 'unknown': skipped no-such-device." in caplog.text


def test_a_job_is_polled_less_often_after_the_first_minute(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.push("polled", START, "1.0.0")
    job = client.train("polled", rounds=1, min_devices=5)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if sum(slept) > 70:
            job.stop()

    monkeypatch.setattr("tributary.client.time", SimpleNamespace(sleep=sleep, monotonic=lambda: sum(slept)))
    monkeypatch.setattr("tributary.client.POLL_SECONDS", 1.0)
    with pytest.raises(TributaryError, match="stopped"):
        job.wait(progress=False)
    assert slept == [1.0] * 60 + [5.0] * 3


def test_waiting_for_a_job_ends_at_the_timeout(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.push("awaited", START, "1.0.0")
    job = client.train("awaited", rounds=1, min_devices=5)
    slept: list[float] = []
    monkeypatch.setattr("tributary.client.time", SimpleNamespace(sleep=slept.append, monotonic=lambda: sum(slept)))
    monkeypatch.setattr("tributary.client.POLL_SECONDS", 1.0)
    with pytest.raises(TimeoutError, match="62.5 s"):
        job.wait(timeout=62.5, progress=False)
    assert slept == [1.0] * 60 + [2.5]
    job.stop()


def test_lists_are_read_page_by_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tributary.client.PAGE", 1)
    whole = client.request("GET", "/models", limit=100)["models"]
    assert [each.id for each in client.models()] == [each["id"] for each in whole]


def test_lists_with_a_cursor_are_read_to_their_end_without_duplicates(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        tributary.Device(service.url, f"cursor-{number}").register(trains=False)
        client.request("POST", "/team", {"email": f"cursor-{number}@acme.example", "role": "viewer"})
    whole = client.request("GET", "/fleet/devices", limit=100)["devices"]
    monkeypatch.setattr("tributary.client.PAGE", 2)
    assert [each["id"] for each in client.listed("/fleet/devices", "devices")] == [each["id"] for each in whole]
    invited = list(client.listed("/audit", "entries", action="inviteMember", limit=1))
    assert [each["seq"] for each in invited] == sorted({each["seq"] for each in invited}, reverse=True)
    assert {f"cursor-{number}@acme.example" for number in range(3)} <= {each["object_name"] for each in invited}


def test_lists_without_a_total_are_read_to_their_end(client: Client) -> None:
    for number in range(3):
        client.request("POST", "/keys", {"name": f"listed-{number}", "scopes": ["devices:read"]})
        client.request("POST", "/team", {"email": f"listed-{number}@acme.example", "role": "viewer"})
    whole = [each["id"] for each in client.request("GET", "/keys")["keys"]]
    members = client.request("GET", "/team")["members"]
    for limit in (1, len(whole), len(whole) + 1):
        assert [each["id"] for each in client.listed("/keys", "keys", limit=limit)] == whole
    for limit in (1, len(members), len(members) + 1):
        # The team has no pages: the limit does nothing.
        assert list(client.listed("/team", "members", limit=limit)) == members


def test_a_list_can_begin_further_on(client: Client) -> None:
    for number in range(3):
        client.request("POST", "/models", {"name": f"further-{number}", "framework": "pytorch"})
    whole = [each["id"] for each in client.listed("/models", "models")]
    assert [each["id"] for each in client.listed("/models", "models", offset=1, limit=1)] == whole[1:]


def test_a_change_that_is_answered_without_a_body_is_sent_once(
    client: Client, bad_network: Callable[[Fault], Proxy]
) -> None:
    proxy = bad_network(lambda method, path, before: None)
    through = Client(proxy.url, client.connection.key)
    invited = through.request("POST", "/team", {"email": "leaves@acme.example", "role": "viewer"})
    path = f"/team/{invited['id']}"
    assert through.request("DELETE", path) == {}
    assert [method for method, asked, _ in proxy.asked if asked.endswith(path)] == ["DELETE"]


@pytest.mark.parametrize("status", ["200", "201"])
def test_a_complete_response_that_is_not_from_the_service_is_not_asked_for_again(
    client: Client, bad_network: Callable[[Fault], Proxy], status: str
) -> None:
    proxy = bad_network(lambda method, path, before: status)
    with pytest.raises(TributaryError, match="did not respond to POST /models with a JSON object") as caught:
        Client(proxy.url, client.connection.key).request("POST", "/models", {"name": "once"})
    assert (caught.value.code, caught.value.status, caught.value.is_passing) == ("unknown", int(status), False)
    assert len(proxy.asked) == 1


def test_a_json_object_that_is_not_from_the_service_is_noticed_by_every_method(
    client: Client, bad_network: Callable[[Fault], Proxy], tmp_path: Path
) -> None:
    through = Client(bad_network(lambda method, path, before: PORTAL).url, client.connection.key)
    calls: list[Callable[[], object]] = [
        lambda: through.org,
        through.models,
        through.jobs,
        lambda: through.model("m"),
        lambda: through.job("j"),
        lambda: through.push("m", START),
        lambda: through.promote("m", 1, "production"),
        lambda: through.train("m"),
        lambda: through.deploy("m"),
        lambda: through.roll_out("m", "1.0.0"),
        lambda: through.device("d"),
    ]
    for call in calls:
        with pytest.raises(TributaryError, match="contain.* the service") as caught:
            call()
        assert (caught.value.code, caught.value.status, caught.value.is_passing) == ("unknown", 200, False)
    with pytest.raises(TributaryError, match="X-Model-Hash"):
        through.pull("m", to=tmp_path)


@pytest.mark.parametrize("answer", ["200", "204", PORTAL])
def test_a_device_outlasts_a_response_that_is_not_from_the_service(
    bad_network: Callable[[Fault], Proxy], answer: str
) -> None:
    proxy = bad_network(lambda method, path, before: answer if before == 0 else None)
    assert tributary.Device(proxy.url, f"outlasts-{len(answer)}-{answer[:3]}").register(trains=False)
    assert len(proxy.asked) == 2


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_a_path_cannot_contain_is_refused(client: Client, name: str) -> None:
    with pytest.raises(TributaryError, match="is not the name or id of an object"):
        client.model(name)


def test_a_curve_has_its_ends_at_its_edges() -> None:
    lines = text_curve([4.0, 2.0, 1.0], "loss", height=3).splitlines()
    assert lines == [
        "         4 ┤●  ",
        "           ┤ ● ",
        "         1 ┤  ●",
        "           └───",
        "            loss by round, 3 rounds",
    ]
    assert len(text_curve(list(range(1000)), "loss").splitlines()[0]) <= 12 + 60
    assert text_curve([1.0], "loss").count("●") == 1
