import { Type } from 'typebox'
import type { Assignment as Given } from '../../../domain/assignment.ts'
import { Count, Nullable, OneOf, Part, Uuid } from '../../../platform/http/wire.schema.ts'

export const Assignment = Part('Assignment', 'A version that a device is to run', {
  plan_id: Uuid,
  kind: OneOf(['rollout', 'deployment', 'experiment']),
  model_id: Nullable(Uuid),
  model_name: Nullable(Type.String()),
  version: Type.String({ description: 'Devices repeat it in their reports' }),
  version_number: Nullable(Type.Integer({ minimum: 1 })),
  format: Nullable(Type.String()),
  model_size_bytes: Nullable(Count),
  model_hash: Nullable(Type.String({ description: 'sha256:<hex>' })),
  download_path: Nullable(
    Type.String({ description: 'Null where the catalog has no such model: the device resolves model_name itself' }),
  ),
  activate: Type.Boolean({
    description: 'False: download and verify it, report ready, and keep running the current version',
  }),
  variant: Type.Optional(Type.String({ description: "The experiment's variant" })),
})

const presented = new WeakMap<Given, ReturnType<typeof toWire>>()

/** An assignment as it travels. Made once for all devices that share it: heartbeats answer with it. */
export const presentAssignment = (assignment: Given): ReturnType<typeof toWire> => {
  let wire = presented.get(assignment)
  if (wire === undefined) {
    wire = toWire(assignment)
    presented.set(assignment, wire)
  }
  return wire
}

const toWire = ({ planId, kind, offer, activate, variant }: Given) => ({
  plan_id: planId,
  kind,
  model_id: offer.modelId,
  model_name: offer.modelName,
  version: offer.version,
  version_number: offer.versionNumber,
  format: offer.format,
  model_size_bytes: offer.size,
  model_hash: offer.sha256 === null ? null : `sha256:${offer.sha256}`,
  download_path:
    offer.versionNumber === null ? null : `/api/v1/models/${offer.modelId}/versions/${offer.versionNumber}/download`,
  activate,
  ...(variant === null ? {} : { variant }),
})
