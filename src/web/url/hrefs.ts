/** Browsers treat these as path steps, even if they are encoded. */
const isStep = (name: string): boolean => name === '.' || name === '..'

/**
 * Returns the page of a device. Organizations may use the same names, so the address includes the organization if known. A name
 * that cannot be in a path becomes a search.
 */
export const deviceHref = (deviceId: string, orgId: string | null = null): string => {
  if (isStep(deviceId)) return `/devices?q=${deviceId}`
  return `/devices/${encodeURIComponent(deviceId)}${orgId === null ? '' : `?org=${encodeURIComponent(orgId)}`}`
}

/** Uses the model's name, if it has one that can be in a path. */
const modelPart = (id: string, name: string | null | undefined): string =>
  encodeURIComponent(name == null || isStep(name) ? id : name)

export const modelHref = (id: string, name?: string | null): string => `/models/${modelPart(id, name)}`

export const policyHref = (id: string, name?: string | null): string => `/delivery/policies/${modelPart(id, name)}`
