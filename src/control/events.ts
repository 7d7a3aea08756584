import type { Executor } from '../platform/db/open.ts'
import type { ChangeNotifier } from '../platform/events/change-notifier.ts'
import type { EventBus } from '../platform/events/event-bus.ts'

/** The round that an event is about, as its publisher saw it. */
export interface RoundEvent {
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

/** What a completed round leaves to its job, and to those who may read its model. */
export interface RoundOutcome {
  readonly modelId: string
  readonly loss: number | null
  readonly stateSha256: string | null
  readonly controlSha256: string | null
  /** Null where clipping is not adapted. */
  readonly nextClipNorm: number | null
}

export interface JobChange {
  readonly id: string
  readonly orgId: string | null
  readonly federationId: string | null
  readonly status: string
  /** Why the job has ended; null while it goes on. */
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

/** What the modules of the control plane tell each other. */
export interface ControlEvents {
  /** An organization takes over whatever belongs to none. */
  'unbound.adopted': { readonly orgId: string }
  /** A model has a new version, by upload. */
  'version.added': { readonly modelId: string; readonly orgId: string | null; readonly version: number }
  /** A version is to be converted to another format. */
  'conversion.requested': { readonly modelId: string }
  /** A stored file is not what it was. */
  'file.damaged': { readonly sha256: string; readonly damage: string }
  /** A damaged file is as it was. */
  'file.repaired': { readonly sha256: string }
  'devices.registered': { readonly orgIds: readonly (string | null)[] }
  /** A group was created, renamed or deleted, or devices joined or left it. */
  'group.changed': { readonly groupId: string; readonly orgId: string | null }
  'plan.changed': PlanChange
  /** Its members, shared models or budget are others, or somebody asked for statistics; for all that see it, or did until now. */
  'federation.changed': { readonly federationId: string; readonly orgIds: readonly string[] }
  /** Something waits for a second admin, or waits no more. */
  'approval.changed': { readonly id: string; readonly orgId: string; readonly kind: string; readonly status: string }
  /** Devices reported on what these plans assigned to them. */
  'assignments.reported': { readonly planIds: ReadonlySet<string> }
  'round.started': RoundEvent
  /** Devices may join an active round: some of its devices have failed or did not come. */
  'round.places_freed': { readonly id: string }
  /** Updates were counted; one event for all that share a transaction. */
  'updates.accepted': { readonly rounds: readonly RoundEvent[] }
  /** The round takes no more updates: they wait for aggregation. */
  'round.collected': RoundEvent
  'round.completed': RoundEvent & RoundOutcome
  /** Devices are asked to evaluate the new model of a job's last round. */
  'evaluation.opened': { readonly roundId: string }
  /** The evaluation of a job's last model is over. */
  'round.evaluated': RoundEvent
  'round.failed': RoundEvent & {
    readonly reason: string
    /** Somebody has ended it: that says nothing about the job, which goes on. */
    readonly cancelled: boolean
  }
  /** A job was created, waits for devices, runs, or has ended. */
  'job.changed': JobChange
}

export type ControlEventBus = EventBus<Executor, ControlEvents>

/** What long polls wait for: rounds that devices may take part in, the ends of rounds, and delivery plans. */
export type Topic = 'rounds' | 'endings' | 'plans'

export type Changes = ChangeNotifier<Topic>
