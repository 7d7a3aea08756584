/** The page of a device. Organizations may use the same names: where it is known, the address says whose device is meant. */
export const deviceHref = (deviceId: string, orgId: string | null = null): string =>
  `/devices/${encodeURIComponent(deviceId)}${orgId === null ? '' : `?org=${encodeURIComponent(orgId)}`}`
