import { Type } from 'typebox'
import { Body, Envelope, Nullable, Page, Part, Timestamp } from '../../../platform/http/wire.schema.ts'
import { examples } from '../delivery.examples.ts'

// Schemas that rollouts, deployments, and experiments share.

export const PageQuery = Type.Object(Page({ max: 1000, default: 100 }))

export const EndedSince = Type.Optional(
  Type.String({ format: 'date-time', description: 'Only those that ended at or after this time' }),
)

/** What `withdrawn` means in the states and counts of devices. */
export const WITHDRAWN = 'withdrawn: it had not failed when the plan ended, and returns to its previous version'

export const ReasonBody = Body('Reason', 'A reason, stored in the history', examples.reason, {
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 1000, description: 'Free text' })),
})

/** The fields of a page of a plan's events. */
export const historyFields = {
  events: Type.Array(
    Part('DeliveryEvent', 'An event of a rollout or deployment', {
      at: Timestamp,
      event: Type.String(),
      status: Type.String({ description: 'State after the event' }),
      percentage: Nullable(Type.Integer()),
      reason: Nullable(Type.String()),
      actor: Nullable(
        Type.String({ description: 'Id of the person or key that requested it; null: the service itself' }),
      ),
    }),
  ),
  ...Envelope,
}
