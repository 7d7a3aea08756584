import { expect, it } from 'vitest'
import { compileTools, schemaResponse } from './compile-schema.ts'
import { readGrammar } from './grammar.ts'
import type { ToolGrammarRequest } from './tool-grammar.ts'
import { createToolReader, type ReplyPart } from './tool-reader.ts'
import { syntaxBeside, type ToolSyntax, templateTools } from './tool-syntax.ts'
import { Walk } from './walk.ts'

const HERMES = templateTools('tools <tool_call>').syntax
const LLAMA = templateTools('tools {"name": "x", "parameters": y}').syntax
const MISTRAL = templateTools('tools [TOOL_CALLS]').syntax

const tools = [
  {
    name: 'get',
    strict: true,
    parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  },
  { name: 'get_all', strict: true, parameters: { type: 'object', properties: {} } },
]
const request = (syntax: ToolSyntax, more: Partial<ToolGrammarRequest> = {}): ToolGrammarRequest => ({
  syntax,
  tools,
  required: false,
  parallel: true,
  format: null,
  ...more,
})

/** True if a text is complete under the grammar. */
const isWhole = (text: string, given: ToolGrammarRequest): boolean => {
  const { grammar, costs } = readGrammar(compileTools(given, '').grammar)
  const walk = new Walk(grammar, costs)
  return walk.after(walk.start, text).has(null)
}

/** Reads a text in pieces of that size, and joins adjacent parts. */
const read = (syntax: ToolSyntax, text: string, size: number): readonly ReplyPart[] => {
  const reader = createToolReader(syntax)
  const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
  const joined: ReplyPart[] = []
  for (const part of [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]) {
    const last = joined.at(-1)
    if (last !== undefined && part.type !== 'call' && last.type === part.type)
      joined[joined.length - 1] = { type: part.type, text: last.text + part.text }
    else joined.push(part)
  }
  return joined
}

const get: readonly ReplyPart[] = [
  { type: 'call', name: 'get' },
  { type: 'arguments', text: '{"n": 1}' },
]
const getAll: readonly ReplyPart[] = [
  { type: 'call', name: 'get_all' },
  { type: 'arguments', text: '{}' },
]

const REPLIES: readonly (readonly [ToolSyntax, string, readonly ReplyPart[]])[] = [
  [HERMES, '<tool_call>\n{"name": "get", "arguments": {"n": 1}}\n</tool_call>', get],
  [
    HERMES,
    'Let me <see> <tool_cal.\n<tool_call>\n{"name": "get", "arguments": {"n": 1}}\n</tool_call>\n<tool_call>\n{"name": "get_all", "arguments": {}}\n</tool_call>',
    [{ type: 'text', text: 'Let me <see> <tool_cal.' }, ...get, ...getAll],
  ],
  [HERMES, 'No <<tool_call', [{ type: 'text', text: 'No <<tool_call' }]],
  [LLAMA, '{"name": "get", "parameters": {"n": 1}}', get],
  [LLAMA, '{"n": 1}, or {"name": 2}', [{ type: 'text', text: '{"n": 1}, or {"name": 2}' }]],
  [
    MISTRAL,
    '[TOOL_CALLS] [{"name": "get", "arguments": {"n": 1}}, {"name": "get_all", "arguments": {}}]',
    [...get, ...getAll],
  ],
]

it("the grammar allows texts and calls in each template's syntax, and they are read from pieces of any size", () => {
  for (const [syntax, text, parts] of REPLIES) {
    expect([text, isWhole(text, request(syntax))]).toEqual([text, true])
    for (const size of [1, 2, 3, 7, 1000]) expect(read(syntax, text, size)).toEqual(parts)
  }
})

it('a call is complete, has valid arguments, and is the only one if only one is allowed', () => {
  const two = REPLIES[1]![1]
  expect([
    isWhole(two, request(HERMES, { parallel: false })),
    isWhole('Hello.', request(HERMES, { required: true })),
    isWhole('<tool_call>\n{"name": "get", "arguments": {"n": "1"}}\n</tool_call>', request(HERMES)),
    isWhole('<tool_call>\n{"name": "other", "arguments": {}}\n</tool_call>', request(HERMES)),
    isWhole('say <tool_call>', request(HERMES)),
    isWhole('{"name": "get"', request(LLAMA)),
  ]).toEqual([false, false, false, false, false, false])
})

it('beside a format, a reply is either calls or a text in it, which may contain how a call begins', () => {
  const format = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
  const either = request(HERMES, { format })
  const text = '{"a": "<tool_call>"}'
  const call = REPLIES[0]![1]
  expect([call, text, 'Hello.', '{"a": 1}', `${text}${call}`].map((reply) => isWhole(reply, either))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
  for (const size of [1, 2, 3, 7, 1000])
    expect([text, call].map((reply) => read(syntaxBeside({ type: 'json_schema' }, HERMES), reply, size))).toEqual([
      [{ type: 'text', text }],
      get,
    ])
})

it('a call that is cut is completed with the shortest valid text', () => {
  const following = schemaResponse(compileTools(request(HERMES), '')).follow()
  expect(following.take('Well, <tool_call>\n{"name": "get"')).toBe(true)
  expect(following.ending()).toBe(', "arguments": {"n":0}}\n</tool_call>')
})

it('an unsupported strict schema is refused with the function and the reason; a non-strict one takes any object', () => {
  const parameters = { type: 'object', properties: { a: { not: {} } } }
  const strange = { name: 'strange', parameters, strict: true }
  expect(() => compileTools(request(HERMES, { tools: [...tools, strange] }), '')).toThrow(
    "The function 'strange' is strict, and the JSON schema cannot be used: at '#/properties/a/not'",
  )
  const lax = request(HERMES, { tools: [{ ...strange, strict: false }] })
  expect(isWhole('<tool_call>\n{"name": "strange", "arguments": {"b": [1]}}\n</tool_call>', lax)).toBe(true)
})

it('arguments may be one of several objects, and nothing else', () => {
  const kind = (k: string) => ({ type: 'object', properties: { k: { const: k } }, required: ['k'] })
  const choosing = (anyOf: readonly object[]) =>
    request(HERMES, { required: true, tools: [{ name: 'f', strict: true, parameters: { anyOf } }] })
  const called = (given: string) => `<tool_call>\n{"name": "f", "arguments": ${given}}\n</tool_call>`
  const two = choosing([kind('a'), kind('b')])
  expect([isWhole(called('{"k": "b"}'), two), isWhole(called('{"k": "c"}'), two)]).toEqual([true, false])
  expect(() => compileTools(choosing([kind('a'), { type: 'null' }]), '')).toThrow(
    "at '#/anyOf/1/type' must be 'object'",
  )
})

it("the syntax is the template's, or the default if the template has no known one", () => {
  expect(templateTools(null)).toEqual({ syntax: HERMES, native: false, shortIds: false })
  expect(templateTools('{{ tools }} <tool_call> <function=')).toMatchObject({ native: false })
  expect(templateTools('{{ tools }} [TOOL_CALLS]x[ARGS]')).toMatchObject({ native: false })
  expect(templateTools('tools {"name": "x", "parameters": y} </think>')).toMatchObject({
    syntax: HERMES,
    native: false,
  })
  expect([HERMES, LLAMA, MISTRAL].map(({ trigger }) => trigger)).toEqual(['<tool_call>', '{"name"', '[TOOL_CALLS]'])
})
