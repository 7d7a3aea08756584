import { expect, it } from 'vitest'
import openapi from '../../../openapi.json' with { type: 'json' }
import { runInProcess } from '../in-process.fixture.ts'
import { ACTIONS } from './resources.ts'

interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
}

const pointed = <Value>(value: Value): Value => {
  const { $ref } = (value ?? {}) as { readonly $ref?: string }
  if ($ref === undefined) return value
  const found = $ref
    .split('/')
    .slice(1)
    .reduce((at, key) => (at as Record<string, unknown>)[key]!, openapi as unknown)
  return pointed(found as Value)
}

const operationOf = (request: string): Operation | undefined => {
  const [method, path] = request.split(' ') as [string, string]
  const paths = openapi.paths as unknown as Record<string, Record<string, Operation>>
  return paths[path]?.[method.toLowerCase()]
}

const actions = ACTIONS.map(({ under, action }) => ({ resource: under, action }))

it.each(actions.map(({ resource, action }) => [`svc ${resource} ${action.name}`, action] as const))(
  '%s sends only parameters and shows only fields that openapi.json has',
  (_, { request, args = [], options = [], rows, columns = [], org, body }) => {
    const operation = operationOf(request)!
    const parameters = (operation.parameters ?? []).map(pointed)
    const isQuery = request.startsWith('GET ')
    const schema = pointed(operation.requestBody)?.content['application/json'].schema
    const taken = isQuery
      ? parameters.filter((one) => one.in === 'query').map(({ name }) => name)
      : Object.keys(pointed(schema)?.properties ?? {})
    const required = isQuery
      ? parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => name)
      : (pointed(schema)?.required ?? [])
    const inPath = [...request.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const inQuery = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
    const asked = [
      ...options.flatMap(({ field, at }) => (at === 'query' ? [field] : [])),
      ...(args.some(({ find }) => find === 'device') ? ['org_id'] : []),
    ]
    expect(
      asked.filter((field) => !inQuery.includes(field)),
      'not query parameters of the operation',
    ).toEqual([])
    const sent = [
      ...options.flatMap(({ field, request: other, at }) => (other === undefined && at === undefined ? [field] : [])),
      ...args.flatMap(({ field }) => (field !== undefined && !inPath.includes(field) ? [field] : [])),
      ...(org === undefined ? [] : ['org_id']),
    ]
    expect(
      sent.filter((field) => !taken.includes(field)),
      'sent, but unknown to the operation',
    ).toEqual([])
    const unsent = required.filter((field) => !sent.includes(field) && body === undefined)
    expect(unsent, 'required by the operation, but not sent').toEqual([])
    if (rows === undefined) return
    const [, response] = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))!
    const listed = pointed(pointed(pointed(response).content!['application/json']!.schema).properties?.[rows])?.items
    const fields = Object.keys(pointed(listed)?.properties ?? {})
    expect(fields).not.toEqual([])
    const shown = columns.flatMap(([, value]) => (typeof value === 'string' ? [value] : []))
    expect(
      shown.filter((field) => !fields.includes(field)),
      'shown, but not in the response',
    ).toEqual([])
  },
)

it('every action has help with a --json option', async () => {
  for (const { resource, action } of actions) {
    const { exitCode, stdout } = await runInProcess([resource, action.name, '--help'])
    expect([exitCode, stdout.startsWith(`Usage: svc ${resource} ${action.name} `), stdout.includes('--json')]).toEqual([
      0,
      true,
      true,
    ])
  }
})
