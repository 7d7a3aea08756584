/** Browsers take these for steps up, in whatever way they are encoded. */
const isStep = (name: string): boolean => name === '.' || name === '..'

/**
 * The page of a device. Organizations may use the same names: where it is known, the address says whose device is meant. A
 * name that cannot be in an address is searched for.
 */
export const deviceHref = (deviceId: string, orgId: string | null = null): string => {
  if (isStep(deviceId)) return `/devices?q=${deviceId}`
  return `/devices/${encodeURIComponent(deviceId)}${orgId === null ? '' : `?org=${encodeURIComponent(orgId)}`}`
}

/** A model by its name, where it has one that can be in an address. */
const modelPart = (id: string, name: string | null | undefined): string =>
  encodeURIComponent(name == null || isStep(name) ? id : name)

export const modelHref = (id: string, name?: string | null): string => `/models/${modelPart(id, name)}`

export const policyHref = (id: string, name?: string | null): string => `/delivery/policies/${modelPart(id, name)}`
