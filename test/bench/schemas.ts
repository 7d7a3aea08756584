import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startThread } from '../../src/platform/threads/start-thread.ts'
import { printTable, quantile } from './figures.ts'
import { type ModelServer, startOurs } from './inference/model-servers.ts'
import { ATTACKERS, type Attack, type Attacked, chatOf } from './inference/schema-attackers.ts'

const SECONDS = 5
const STARTER = fileURLToPath(new URL('../../models/starter.gguf', import.meta.url))

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const named = (count: number, schema: (i: number) => unknown): object =>
  Object.fromEntries(many(count, (i) => [`p${i}`, schema(i)]))
const all = (count: number): string[] => many(count, (i) => `p${i}`)
const chain = (length: number, make: (next: object) => object): object => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    many(length, (i) => [`d${i}`, i === length - 1 ? { type: 'string' } : make({ $ref: `#/$defs/d${i + 1}` })]),
  ),
})
const array = (minItems: number, items: object): object => ({ type: 'array', minItems, items })

/** `salt` varies the schemas: all of them, or 40, 50, or 100; null: no schema. */
const ATTACKS: readonly (readonly [name: string, schema: ((salt: number) => object) | null])[] = [
  ['no schema', null],
  ['1900 x 1900 strings', (salt) => array(1900, array(1900, { type: 'string', minLength: 50 + (salt % 40) }))],
  ['100^4 arrays', (salt) => array(100, array(100, array(100, array(100, { const: salt }))))],
  ['oneOf of 5,000 constants', (salt) => ({ oneOf: many(5000, (i) => ({ const: `${salt} ${i}` })) })],
  ['oneOf of 1,000 constants', (salt) => ({ oneOf: many(1000, (i) => ({ const: `${salt} ${i}` })) })],
  ['enum of 30,000 strings', (salt) => ({ enum: many(30_000, (i) => `${salt} ${i}`) })],
  ['enum of 1,000 first characters', (salt) => ({ enum: many(1000, (i) => String.fromCodePoint(0x4e00 + i) + salt) })],
  ['^[\\p{L}\\p{N}]{1,500}$', (salt) => ({ type: 'string', pattern: `^[\\p{L}\\p{N}]{1,${400 + (salt % 100)}}$` })],
  ['.*a.{12}', (salt) => ({ type: 'string', pattern: `${salt}.*a.{12}` })],
  [
    'doubling $ref',
    (salt) => chain(40, (next) => ({ properties: { a: next, b: next, [salt]: {} }, required: ['a', 'b'] })),
  ],
  ['doubling $ref, optional', (salt) => chain(40, (next) => ({ properties: { a: next, b: next, [salt]: {} } }))],
  [
    '5,000 required properties',
    (salt) => ({ properties: { ...named(4999, () => ({ type: 'integer' })), [salt]: {} }, required: all(4999) }),
  ],
  [
    '1,000 properties, 40 of them required',
    (salt) => ({ properties: { ...named(999, () => ({ type: 'boolean' })), [salt]: {} }, required: all(40) }),
  ],
  ['99 optional properties', (salt) => ({ properties: { ...named(98, () => ({ type: 'string' })), [salt]: {} } })],
  ['2,400 nested objects', (salt) => chain(2400, (next) => ({ properties: { a: next, [salt]: {} } }))],
  [
    '100 alternatives',
    (salt) => ({
      anyOf: many(100, (i) => ({ properties: { a: { type: 'string' }, [`${salt} ${i}`]: {} }, required: ['a'] })),
    }),
  ],
  [
    'strings of 19,000 characters',
    (salt) => ({ properties: named(10, (i) => ({ type: 'string', minLength: 1, maxLength: 1900 + i + (salt % 50) })) }),
  ],
]

const PROMPT = 'Tell me a long story.'

interface Seen {
  readonly attackers: Attacked
  readonly health: readonly number[]
  readonly first: readonly number[]
  readonly gaps: readonly number[]
}

/** More than the server caches: if all schemas differ, it compiles each one again on every turn. */
const BODIES = 200

/** In addition to the attackers, one client requests /health and one reads streamed chats. */
const observe = async ({ port, model }: ModelServer, schema: ((salt: number) => object) | null): Promise<Seen> => {
  const base = { model, temperature: 1, messages: [{ role: 'user', content: PROMPT }] }
  const bodies = many(BODIES, (salt) =>
    JSON.stringify({
      ...base,
      max_tokens: 24,
      ...(schema && { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: schema(salt) } } }),
    }),
  )
  const thread = startThread(import.meta.url, 'inference/schema-attackers.worker', {
    workerData: { port, bodies, seconds: SECONDS } satisfies Attack,
  })
  let over = false
  const attackers = once(thread, 'message').then(([output]) => {
    over = true
    return output as Attacked
  })
  const [health, first, gaps]: [number[], number[], number[]] = [[], [], []]
  const probe = async (): Promise<void> => {
    while (!over) {
      const began = performance.now()
      await (await fetch(`http://127.0.0.1:${port}/health`)).text()
      health.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const read = async (): Promise<void> => {
    const body = JSON.stringify({ ...base, max_tokens: 100, stream: true })
    while (!over) {
      let last = performance.now()
      let chunks = 0
      await chatOf(port, body, (at, text) => {
        if (!text.includes('"content":"')) return
        if (chunks++ === 0) first.push(at - last)
        else gaps.push(at - last)
        last = at
      })
    }
  }
  await Promise.all([attackers, probe(), read()])
  return { attackers: await attackers, health, first, gaps }
}

/** What adversarial schemas cost other clients of `svc serve`, in milliseconds. */
export const benchSchemas = async (): Promise<void> => {
  const server = await startOurs({ model: STARTER, threads: 1, slots: ATTACKERS + 1, contextTokens: 2048 })
  try {
    await observe(server, null)
    const rows: string[][] = []
    for (const [name, schema] of ATTACKS) {
      const { attackers, health, first, gaps } = await observe(server, schema)
      const ms = (values: readonly number[], share: number) => quantile(values, share).toFixed(0)
      rows.push([
        name,
        attackers.statuses.join(', '),
        String(attackers.requested),
        String(attackers.largest),
        ms(health, 0.5),
        ms(health, 0.99),
        ms(first, 0.5),
        ms(first, 0.95),
        ms(gaps, 0.99),
        ms(gaps, 1),
      ])
    }
    printTable(
      [
        'eight at once',
        'status',
        'asked',
        'largest response, characters',
        '/health p50',
        'p99',
        'first token p50',
        'p95',
        'gap p99',
        'longest',
      ],
      rows,
    )
  } finally {
    await server.close()
  }
}
