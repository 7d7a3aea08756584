import type { Executor } from '../platform/db/open.ts'
import type { ChangeNotifier } from '../platform/events/change-notifier.ts'
import type { EventBus } from '../platform/events/event-bus.ts'

/** What the modules of the control plane tell each other, always from an earlier module to later ones. */
export interface ControlEvents {
  /** A model has a new version, by upload. */
  'version.added': { readonly modelId: string }
  /** Devices joined or left a group, or it was deleted. */
  'group.changed': { readonly groupId: string }
  /** Devices reported on what these plans assigned to them. */
  'assignments.reported': { readonly planIds: ReadonlySet<string> }
  /** Rounds wait for aggregation, or a step of secure aggregation is over. */
  'round.collected': Record<never, never>
  /** A round has completed or failed. */
  'round.ended': Record<never, never>
}

export type ControlEventBus = EventBus<Executor, ControlEvents>

/** What long polls wait for: rounds that devices may take part in, the ends of rounds, and delivery plans. */
export type Topic = 'rounds' | 'endings' | 'plans'

export type Changes = ChangeNotifier<Topic>
