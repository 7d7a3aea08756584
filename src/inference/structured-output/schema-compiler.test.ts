import { afterEach, expect, it } from 'vitest'
import { createSchemaCompiler, type SchemaCompiler, type SchemaCompilerOptions } from './schema-compiler.ts'

const opened: SchemaCompiler[] = []
const open = (options?: SchemaCompilerOptions): SchemaCompiler => {
  const compiler = createSchemaCompiler(options)
  opened.push(compiler)
  return compiler
}

afterEach(async () => {
  for (const compiler of opened.splice(0)) await compiler.close()
})

const faultOf = (compiling: Promise<unknown>): Promise<unknown> => compiling.catch((error: unknown) => error)

it('compiles a schema once, even for concurrent requests', async () => {
  const compiler = open()
  const [one, other] = await Promise.all([compiler.compile({ type: 'null' }), compiler.compile({ type: 'null' })])
  expect(other).toBe(one)
  expect(one.smallest).toBe('null')
  expect(await compiler.compile({ type: 'null' })).toBe(one)
  expect(compiler.counts).toEqual({ compiled: 1, cached: 2 })
})

it('keeps the schemas used last, up to its limit', async () => {
  const compiler = open({ cacheEntries: 2 })
  for (const type of ['null', 'boolean', 'null', 'integer', 'null', 'boolean']) await compiler.compile({ type })
  expect(compiler.counts).toEqual({ compiled: 4, cached: 2 })
})

it('stops compiling a schema at the deadline, and compiles the next one', async () => {
  const hurried = open({ deadlineMs: 0 })
  expect(await faultOf(hurried.compile({ type: 'null' }))).toMatchObject({
    code: 'unsupported',
    param: 'response_format',
    message: 'The JSON schema is too complex: compiling it took longer than 0 ms. Make it simpler.',
  })
  await faultOf(hurried.compile({ type: 'null' }))
  expect(hurried.counts).toEqual({ compiled: 2, cached: 0 })
})

it('limits how many schemas wait', async () => {
  const compiler = open({ maxWaiting: 1 })
  const [, second] = await Promise.all([
    compiler.compile({ type: 'null' }),
    faultOf(compiler.compile({ type: 'string' })),
  ])
  expect(second).toMatchObject({ code: 'queue_full', statusCode: 503, retryAfterSeconds: 1 })
  expect((await compiler.compile({ type: 'string' })).smallest).toBe('""')
})

it('checks the size of a schema before any work on it', async () => {
  const compiler = open()
  const tooMany = compiler.compile({ enum: Array.from({ length: 1001 }, (_, i) => i) })
  expect(await faultOf(tooMany)).toMatchObject({
    code: 'unsupported',
    message:
      "The JSON schema is too large: it has 1001 values of 'enum' and 'const' in total, and at most 1000 are supported. Make it smaller.",
  })
  expect(compiler.counts).toEqual({ compiled: 0, cached: 0 })
})
