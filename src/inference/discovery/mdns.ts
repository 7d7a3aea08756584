import { Bonjour } from 'bonjour-service'

/** The type that servers are announced under: `_svc-inference._tcp`. */
export const SERVICE_TYPE = 'svc-inference'

export const LOOPBACK = '127.0.0.1'

/**
 * Multicast DNS on the network that the default route leads to, or on one interface, named by its address. `onError` hears
 * why it is not possible here (no network, no permission), which may be again and again.
 */
export const openMdns = (address: string | null, onError: (error: Error) => void): Bonjour => {
  // Bound to the interface's address, a socket would not hear what is sent to the group's.
  const socket = address === null ? {} : { interface: address, bind: '0.0.0.0' }
  const bonjour = new Bonjour(socket as object, onError)
  // Sends fail one by one where there is no route; without a listener that would go unheard.
  const { mdns } = (bonjour as unknown as { readonly server: { readonly mdns: NodeJS.EventEmitter } }).server
  mdns.on('warning', onError)
  return bonjour
}

export const closeMdns = (bonjour: Bonjour): Promise<void> => new Promise((resolve) => bonjour.destroy(() => resolve()))
