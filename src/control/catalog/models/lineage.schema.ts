import { Type } from 'typebox'
import { Body, Count, FreeObject, Nullable, OneOf, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../catalog.examples.ts'
import { ListedVersion } from './models.schema.ts'

const Training = Part(
  'VersionTraining',
  'How the version was trained; null for an upload, or if the key has no access to the round',
  {
    job_id: Nullable(Uuid),
    job_name: Nullable(Type.String()),
    round_id: Uuid,
    round_number: Count,
    strategy: Type.String(),
    strategy_options: FreeObject,
    selected_devices: Count,
    completed_devices: Count,
    failed_devices: Count,
    trained_from: Nullable(
      Type.Object(
        { model_id: Uuid, version: Type.Integer({ minimum: 1 }) },
        { description: 'The model that its round distributed; retention may have deleted it' },
      ),
    ),
    privacy_spent: Nullable(
      Type.Object(
        { epsilon: Type.Number(), target_delta: Type.Number(), rounds: Count },
        { description: 'Total privacy cost of the job up to this round; null without noise' },
      ),
    ),
    receipt_path: Type.String({ description: 'Path of the receipt, which svc train verify replays' }),
    ended_at: Nullable(Timestamp),
  },
)

const Use = Part('VersionUse', 'A plan that delivers or delivered the version to devices', {
  kind: OneOf(['rollout', 'deployment', 'experiment']),
  id: Uuid,
  name: Nullable(Type.String()),
  status: Type.String(),
  percentage: Nullable(Type.Number()),
  created_at: Timestamp,
})

const Runs = Part('VersionRuns', 'Where the version runs; null for a model that a federation shares', {
  devices: Type.Record(Type.String(), Count, {
    description:
      'Devices by last reported state: downloading, verifying, ready, active, or failed; withdrawn: it had not failed when its plan was rolled back or stopped',
  }),
  uses: Type.Array(Use, {
    description: 'At most 100, newest first. If there are more, the oldest that devices no longer get are left out',
  }),
})

export const VersionLineage = Body(
  'VersionLineage',
  'A version, where it came from, and where it runs',
  examples.versionLineage,
  {
    ...ListedVersion.properties,
    model_id: Uuid,
    model_name: Nullable(Type.String()),
    description: Type.String(),
    training: Nullable(Training),
    runs: Nullable(Runs),
  },
)
