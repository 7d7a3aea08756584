import { Type } from 'typebox'
import { Body, Envelope, Nullable, OneOf, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { QueriedDevice } from '../../delivery/experiments/experiments.schema.ts'
import { examples } from '../training.examples.ts'
import { ListRoundsPage } from './rounds.schema.ts'

const ParticipantState = OneOf(['selected', 'delivered', 'failed', 'absent'], {
  title: 'ParticipantState',
  description: 'absent: it did not fetch the plan in time; another may replace it, but its update is still accepted',
})

export const Participation = Body('Participation', 'Whether a device was selected, and why', examples.selection, {
  round_id: Uuid,
  device_id: Type.String(),
  selected: Type.Boolean(),
  state: Nullable(ParticipantState),
  reason: Type.String(),
})

export const ListParticipantsQuery = ListRoundsPage

export const ParticipantList = Body('ParticipantList', "A page of a round's devices", examples.participantList, {
  participants: Type.Array(
    Part('Participant', 'A device of a round', {
      device_id: Uuid,
      device_identifier: Type.String({ description: 'The id that the device chose for itself' }),
      org_id: Nullable(Type.String()),
      state: ParticipantState,
      chosen: OneOf(['drawn', 'starter', 'joined'], { description: 'How the device was selected' }),
      selected_at: Timestamp,
      acknowledged_at: Nullable(Timestamp),
      model_fetched_at: Nullable(Timestamp),
      reported_at: Nullable(Timestamp),
      reason: Nullable(Type.String({ description: 'Why the device failed or is absent' })),
    }),
  ),
  ...Envelope,
})

export const SelectionQuery = Type.Object({
  device_id: Type.Optional(QueriedDevice),
})
