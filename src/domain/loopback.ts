/** True if a host can be reached only from this machine: 127.0.0.0/8 (RFC 1122, section 3.2.1.3), ::1 (RFC 4291), or `localhost`. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
