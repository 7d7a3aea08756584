"""The responses of the service as plain objects. Generated from openapi.json by `npm run gen`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(kw_only=True)
class Version:
    """One version of a model."""

    version: int
    version_label: str
    format: Literal["pytorch", "tensorflow", "onnx", "sklearn", "xgboost"]
    model_size_bytes: int
    model_hash: str
    uploaded_at: str
    metadata: dict[str, Any]
    formats: list[dict[str, Any]]
    trained_by: dict[str, Any] | None
    aliases: list[str]


@dataclass(kw_only=True)
class Model:
    """A model in the catalog with its versions."""

    id: str
    org_id: str | None
    name: str | None
    round_id: str | None
    model_path: str | None
    model_size_bytes: int | None
    model_hash: str | None
    framework: Literal["pytorch", "tensorflow", "xgboost", "sklearn"]
    framework_version: str
    accuracy: float | None
    loss: float | None
    is_baseline: bool
    description: str
    created_at: str
    versions: list[Version]
    delivered_versions: list[int]


@dataclass(kw_only=True)
class DeviceRecord:
    """A registered device."""

    id: str
    device_id: str
    org_id: str | None
    platform: Literal["ios", "android", "macos", "linux", "windows", "browser", "python", "unknown"]
    capabilities: dict[str, Any]
    trains: bool
    status: Literal["active", "inactive"]
    metrics: dict[str, Any] | None
    omitted: list[str] | None = None
    last_heartbeat: str
    created_at: str
    updated_at: str


@dataclass(kw_only=True)
class ListedDevice:
    """A device in a list."""

    id: str
    device_identifier: str
    org_id: str
    platform: Literal["ios", "android", "macos", "linux", "windows", "browser", "python", "unknown"]
    status: Literal["active", "inactive"]
    last_seen_at: str


@dataclass(kw_only=True)
class Group:
    """A device group."""

    id: str
    org_id: str
    name: str
    description: str
    group_type: str
    tags: list[str]
    device_count: int
    filter: list[dict[str, Any]] | None
    created_at: str


@dataclass(kw_only=True)
class JobRound:
    """One round in a job's history."""

    round_id: str
    round_number: int
    status: Literal["pending", "active", "aggregating", "completed", "failed"]
    loss: float | None
    accuracy: float | None
    completed_devices: int
    failed_devices: int
    aggregated_model_id: str | None
    failure_reason: str | None
    started_at: str | None
    ended_at: str | None
    metrics: dict[str, Any] | None = None
    evaluation: dict[str, Any] | None = None


@dataclass(kw_only=True)
class Job:
    """A training job."""

    id: str
    org_id: str | None
    name: str | None
    status: Literal["pending", "running", "completed", "failed", "stopped"]
    model_id: str | None
    model_name: str | None = None
    publish: Literal["last", "every", "best", "none"]
    model_version: int | None
    latest_model_id: str | None
    strategy: Literal["fedavg", "fedprox", "scaffold", "krum", "multikrum", "fedmedian", "fedtrimmedavg", "fedopt", "fedadam", "ditto", "fedbuff", "xgb_bagging", "xgb_cyclic"]
    strategy_options: dict[str, Any]
    rounds: int
    rounds_completed: int
    rounds_failed_in_a_row: int
    min_devices: int
    target_devices: int
    over_selection: float
    timeout_seconds: int
    report_window_seconds: float | None
    wait_for_devices_seconds: int
    evaluation_seconds: int | None = None
    group_id: str | None
    federation_id: str | None
    hyperparameters: dict[str, Any]
    omitted: list[str] | None = None
    privacy: dict[str, Any] | None
    secure_aggregation: dict[str, Any] | None
    stop_when: dict[str, Any] | None
    metric: str
    goal: Literal["minimize", "maximize"]
    raw_vector: bool | None = None
    ended_by: Literal["rounds_done", "converged", "budget_spent", "rounds_failed", "no_devices", "cannot_start", "stopped"] | None
    reason: str | None
    waiting_until: str | None
    waiting_for: str | None
    created_at: str
    started_at: str | None
    ended_at: str | None
    resumed_at: str | None
    optimizer_state: Literal["none", "kept", "deleted"]
    privacy_spent: dict[str, Any] | None = None
    published: list[dict[str, Any]]
    history: list[JobRound]


@dataclass(kw_only=True)
class Round:
    """A round."""

    id: str
    org_id: str | None
    round_number: int
    status: Literal["pending", "active", "aggregating", "completed", "failed"]
    target_devices: int
    min_devices: int
    participated_devices: int
    completed_devices: int
    failed_devices: int
    global_model_id: str | None
    global_model_path: str | None
    aggregated_model_id: str | None
    model_deleted_at: str | None = None
    aggregated_model_path: str | None
    failure_reason: str | None
    started_at: str | None
    completed_at: str | None
    ended_at: str | None
    timeout_at: str | None
    created_at: str
    strategy: Literal["fedavg", "fedprox", "scaffold", "krum", "multikrum", "fedmedian", "fedtrimmedavg", "fedopt", "fedadam", "ditto", "fedbuff", "xgb_bagging", "xgb_cyclic"] | None = None
    strategy_options: dict[str, Any] | None = None
    job_id: str | None = None
    group_id: str | None = None
    federation_id: str | None = None
    wanted_updates: int | None = None
    privacy: dict[str, Any] | None = None
    secure_aggregation: dict[str, Any] | None = None
    raw_vector: bool | None = None
    accuracy: float | None = None
    loss: float | None = None
    metrics: dict[str, Any] | None = None
    evaluation: dict[str, Any] | None = None
    evaluation_until: str | None = None
    global_evaluation: dict[str, Any] | None = None


@dataclass(kw_only=True)
class Rollout:
    """A staged delivery of a version."""

    rollout_id: str
    model_id: str
    org_id: str | None
    version: str
    status: Literal["pending", "active", "paused", "completed", "rolled_back"]
    percentage: int
    initial_percentage: int
    target_percentage: int
    increment_step: int
    step_interval_minutes: float
    group_id: str | None
    auto_rollback: bool
    reason: str | None
    next_step_at: str | None
    created_at: str
    started_at: str | None
    ended_at: str | None
    ended_by: Literal["user", "service"] | None
    updated_at: str
    model_name: str | None
    reports: dict[str, Any]
    health: dict[str, Any]
    failures: list[dict[str, Any]]
    approval_id: str | None = None
    warnings: list[str]


@dataclass(kw_only=True)
class Deployment:
    """A version's delivery to devices."""

    deployment_id: str
    org_id: str | None
    model_name: str
    model_version: str
    model_id: str | None
    status: Literal["pending_approval", "started", "completed", "failed", "rolled_back", "rejected"]
    strategy: Literal["canary", "immediate", "blue_green"]
    rollout_percentage: int
    target_count: int
    activated_count: int
    reason: str | None
    switched_at: str | None
    deadline_at: str | None
    created_at: str
    ended_at: str | None
    devices: dict[str, Any]
