import type { Executor } from '../platform/db/open.ts'
import type { ChangeNotifier } from '../platform/events/change-notifier.ts'
import type { EventBus } from '../platform/events/event-bus.ts'

/** The round that an event is about, as its publisher saw it. */
export interface RoundFacts {
  readonly id: string
  readonly orgId: string | null
  readonly jobId: string | null
  readonly federationId: string | null
  readonly roundNumber: number
  /** With differential privacy. */
  readonly isPrivate: boolean
  /** With secure aggregation. */
  readonly isSecure: boolean
}

/** The outcome of a completed round, for its job and for those who may read its model. */
interface RoundOutcome {
  readonly modelId: string
  readonly loss: number | null
  readonly stateSha256: string | null
  readonly controlSha256: string | null
  /** Null if clipping is not adaptive. */
  readonly nextClipNorm: number | null
}

interface JobChange {
  readonly id: string
  readonly orgId: string | null
  readonly federationId: string | null
  readonly status: string
  /** Why the job has ended; null while it continues. */
  readonly ended: string | null
}

/** A rollout, deployment or experiment, or the policy that makes rollouts of a model. */
export interface PlanChange {
  readonly kind: 'rollout' | 'deployment' | 'experiment' | 'policy'
  readonly id: string
  readonly orgId: string | null
  readonly status: string
  readonly percentage?: number | null
  readonly modelId?: string | null
}

/** The events between the modules of the control plane. */
export interface ControlEvents {
  /** An organization takes over everything that belongs to no organization. */
  'unbound.adopted': { readonly orgId: string }
  /** A new version of a model was uploaded. */
  'version.added': { readonly modelId: string; readonly orgId: string | null; readonly version: number }
  /** The metadata of a version was changed. */
  'version.changed': { readonly modelId: string; readonly orgId: string | null; readonly version: number }
  /** A version is being deleted. A handler that needs it throws a conflict; it still exists then. */
  'version.deleted': { readonly modelId: string; readonly orgId: string | null; readonly version: number }
  /** A model was created; it has no versions yet. */
  'model.created': { readonly modelId: string; readonly orgId: string | null }
  /** A model's description was changed. */
  'model.changed': { readonly modelId: string; readonly orgId: string | null }
  /** An alias was created, moved, or deleted: then `version` is null. */
  'alias.moved': {
    readonly modelId: string
    readonly orgId: string | null
    readonly alias: string
    readonly version: number | null
  }
  /** A version is to be converted to another format. */
  'conversion.requested': { readonly modelId: string }
  /** A version was converted, or cannot be. */
  'conversion.ended': {
    readonly modelId: string
    readonly orgId: string | null
    readonly version: number
    readonly format: string
    readonly state: 'ready' | 'failed'
  }
  /** A stored file is damaged. */
  'file.damaged': { readonly sha256: string; readonly damage: string }
  /** A damaged file was repaired. */
  'file.repaired': { readonly sha256: string }
  'devices.registered': { readonly orgIds: readonly (string | null)[] }
  /** A device was erased with everything stored about it; `deviceId` is its internal id. */
  'device.erased': { readonly deviceId: string; readonly orgId: string | null }
  /** A group was created, renamed or deleted, or devices joined or left it. */
  'group.changed': { readonly groupId: string; readonly orgId: string | null }
  'plan.changed': PlanChange
  /** A federation was created, its members, models or budget changed, or statistics were requested. `orgIds` can or could see it. */
  'federation.changed': { readonly federationId: string; readonly orgIds: readonly string[] }
  /** An organization is no longer a member of a federation. */
  'member.left': { readonly federationId: string; readonly orgId: string }
  /** A change waits for approval by a second admin, or no longer does. */
  'approval.changed': { readonly id: string; readonly orgId: string; readonly kind: string; readonly status: string }
  /** Devices reported on what these plans assigned to them. */
  'assignments.reported': { readonly planIds: ReadonlySet<string> }
  'round.started': RoundFacts
  /** Devices may join an active round, because some of its devices failed or are absent. */
  'round.places_freed': { readonly id: string }
  /** Updates were counted; one event for all that share a transaction. */
  'updates.accepted': { readonly rounds: readonly RoundFacts[] }
  /** The round accepts no more updates; they wait for aggregation. */
  'round.collected': RoundFacts
  'round.completed': RoundFacts & RoundOutcome
  /** Devices are asked to evaluate the new model of a job's last round. */
  'evaluation.opened': { readonly roundId: string }
  /** The evaluation of a job's last model is over. */
  'round.evaluated': RoundFacts
  'round.failed': RoundFacts & {
    readonly reason: string
    /** A person ended the round; its job continues. */
    readonly cancelled: boolean
  }
  /** A job was created, waits for devices, runs, or has ended. */
  'job.changed': JobChange
}

export type ControlEventBus = EventBus<Executor, ControlEvents>

/**
 * The topics of long polls: rounds that devices may take part in, the ends of rounds, and delivery plans. Each wakes every
 * waiter. `endings` is separate from `rounds`, after which each waiting heartbeat writes once more to look for a round.
 */
export type Topic = 'rounds' | 'endings' | 'plans'

export type Changes = ChangeNotifier<Topic>
