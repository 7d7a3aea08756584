import { isPathSegment } from '../../domain/path-segment.ts'

/**
 * Returns the page of a device. Organizations may use the same names, so the address includes the organization if known. A name
 * that cannot be in a path becomes a search.
 */
export const deviceHref = (deviceId: string, orgId: string | null = null): string => {
  if (!isPathSegment(deviceId)) return `/devices?q=${deviceId}`
  return `/devices/${encodeURIComponent(deviceId)}${orgId === null ? '' : `?org=${encodeURIComponent(orgId)}`}`
}

/** By id, never by name: organizations may use the same names, and a name alone may mean another organization's model. */
export const modelHref = (id: string): string => `/models/${id}`

export const policyHref = (modelId: string): string => `/delivery/policies/${modelId}`
