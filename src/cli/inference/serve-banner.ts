import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { ComposedServer } from '../../inference/compose.ts'
import type { ServeOptions } from './serve-options.ts'

const megabytes = (bytes: number): string => {
  const size = bytes / 1e6
  return size >= 1000 ? `${(size / 1000).toFixed(1)} GB` : `${Math.round(size)} MB`
}

const count = (number: number): string => {
  if (number >= 1e9) return `${(number / 1e9).toFixed(1)} billion`
  return number >= 1e6 ? `${(number / 1e6).toFixed(1)} million` : String(number)
}

const at = (address: string, port: number): string =>
  `http://${address.includes(':') ? `[${address}]` : address}:${port}/v1`

const everywhere = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)

const isAny = (address: string): boolean => address === '0.0.0.0' || address === '::'

const routingOf = ({ calibrated }: ComposedServer['models'], { routeStrategy }: ServeOptions): string => {
  const limits = calibrated === null ? 'equal ranges, not calibrated' : `calibrated with ${calibrated} prompts`
  return `requests for 'auto' are routed by ${routeStrategy} (${limits})`
}

const openWords = (address: string): string =>
  isAny(address)
    ? 'No key is required: anyone who can reach this machine can use it. Use --host 127.0.0.1 for this machine only, or --api-key.'
    : 'No key is required: anyone who can reach this address can use it. Require one with --api-key.'

/** The lines that `svc serve` prints: what it serves, where, and with which engine. */
export const bannerOf = (
  models: ComposedServer['models'],
  options: ServeOptions,
  { address, port }: AddressInfo,
  wantsKey: boolean,
): string[] => {
  const { engine, chosen } = models.first
  const { name, parameters, contextTokens, memoryBytes } = engine.model
  const facts = [
    ...(parameters === null ? [] : [`${count(parameters)} parameters`]),
    ...(contextTokens > 0 ? [`${contextTokens} tokens of context`] : []),
  ]
  const others = models.names.slice(1)
  const rows: readonly (readonly [string, string])[] = [
    ['Address', at(isAny(address) ? 'localhost' : address, port)],
    ...(isAny(address) ? everywhere().map((other) => ['', at(other, port)] as const) : []),
    ['Engine', `${engine.name}: ${chosen.engine.reason}`],
    ['Model', `${name}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`],
    ...(options.lora ?? []).map((path) => ['', `with the LoRA adapter ${path}`] as const),
    ...(others.length === 0 ? [] : [['', `and on request: ${others.join(', ')}`] as const]),
    ...(models.route === null ? [] : [['Routing', routingOf(models, options)] as const]),
    ...(memoryBytes === 0 ? [] : [['Memory', megabytes(memoryBytes)] as const]),
    ['Queue', `${engine.slots} parallel, ${options.maxQueue} more queued`],
  ]
  const lines = rows.map(([label, value]) => `${label === '' ? '' : `${label}:`}`.padEnd(10) + value)
  return [...lines, wantsKey ? 'Requests need the API key.' : openWords(address)]
}
