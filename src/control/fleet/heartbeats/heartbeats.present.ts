import type { Assignment } from '../../../domain/assignment.ts'

const presented = new WeakMap<Assignment, ReturnType<typeof toWire>>()

/** Returns an assignment with the API's field names. Made once for all devices that share it, because heartbeats return it. */
export const presentAssignment = (assignment: Assignment): ReturnType<typeof toWire> => {
  let wire = presented.get(assignment)
  if (wire === undefined) {
    wire = toWire(assignment)
    presented.set(assignment, wire)
  }
  return wire
}

const toWire = ({ planId, kind, offer, activate, variant }: Assignment) => ({
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
