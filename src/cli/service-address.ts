import { wrongUsage } from './failure.ts'

export const DEFAULT_API_BASE = 'http://127.0.0.1:8000'

/** `http://host:8000/api/v1/` -> `http://host:8000`. `source` names where the address was read, for the error. */
export const parseApiBase = (text: string, source: string): string => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    const plain = text.replace(/\/\/[^/@]*@/, '//')
    throw wrongUsage(`${source} is not the address of a service: '${plain}'.`, `It must look like ${DEFAULT_API_BASE}.`)
  }
  return (url.origin + url.pathname).replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

export const isLoopback = (url: URL): boolean =>
  url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(\.\d+){3}$/.test(url.hostname)

/** Whether a key made by one address may be sent to the other. Another port is another program, on this machine too. */
export const isSameOrigin = (one: string, other: string): boolean => new URL(one).origin === new URL(other).origin

/** Whether settings made for one address hold for the other: the same origin, or both on this machine. */
export const isSameService = (one: string, other: string): boolean => {
  const [left, right] = [new URL(one), new URL(other)]
  return left.origin === right.origin || (isLoopback(left) && isLoopback(right))
}
