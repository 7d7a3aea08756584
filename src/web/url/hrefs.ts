/** The page of a device. Organizations may use the same names: where it is known, the address says whose device is meant. */
export const deviceHref = (deviceId: string, orgId: string | null = null): string =>
  `/devices/${encodeURIComponent(deviceId)}${orgId === null ? '' : `?org=${encodeURIComponent(orgId)}`}`

/** The page of a model, by its name where it has one. */
export const modelHref = (nameOrId: string): string => `/models/${encodeURIComponent(nameOrId)}`
