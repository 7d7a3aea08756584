import { Bonjour } from 'bonjour-service'

/** The service type of announced servers: `_svc-inference._tcp`. */
export const SERVICE_TYPE = 'svc-inference'

export const LOOPBACK = '127.0.0.1'

/**
 * Opens multicast DNS on the default network, or on the interface with the given address. Calls `onError`, perhaps repeatedly,
 * if that is not possible (no network, no permission).
 */
export const openMdns = (address: string | null, onError: (error: Error) => void): Bonjour => {
  // A socket bound to the interface's address would not receive multicast messages.
  const socket = address === null ? {} : { interface: address, bind: '0.0.0.0' }
  const bonjour = new Bonjour(socket as object, onError)
  // Without a route, each send fails separately, and without a listener those errors would be lost.
  const { mdns } = (bonjour as unknown as { readonly server: { readonly mdns: NodeJS.EventEmitter } }).server
  mdns.on('warning', onError)
  return bonjour
}

export const closeMdns = (bonjour: Bonjour): Promise<void> => new Promise((resolve) => bonjour.destroy(() => resolve()))
