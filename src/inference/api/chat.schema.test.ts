import { expect, test } from 'vitest'
import { InferenceError } from '../errors.ts'
import { readChatRequest } from './chat.schema.ts'
import { parseJson } from './request-body.ts'

const TEXT = { type: 'text' } as const
const messages = [{ role: 'user', content: 'Hi' }]
const read = (fields: object) => readChatRequest({ model: 'starter', messages, ...fields }, TEXT)

const fault = (act: () => unknown): unknown => {
  try {
    act()
  } catch (error) {
    if (error instanceof InferenceError) return [error.code, error.param, error.message]
    throw error
  }
  return 'accepted'
}

test('absent and null fields get the defaults of the API', () => {
  const request = {
    model: 'starter',
    messages,
    stream: false,
    includeUsage: false,
    temperature: 0.7,
    topP: 0.9,
    maxTokens: null,
    stop: [],
    responseFormat: TEXT,
    toolUse: null,
    choices: 1,
    reasoning: {},
    sampling: {},
    seed: null,
  }
  expect(read({})).toEqual(request)
  const absent = { temperature: null, top_p: null, max_tokens: null, stop: null, n: null, seed: null, stream: null }
  expect(read({ ...absent, response_format: null, stream_options: null, tools: null })).toEqual(request)
  expect(readChatRequest({ model: 'm', messages }, { type: 'json_object' }).responseFormat).toEqual({
    type: 'json_object',
  })
})

test('every field is read', () => {
  expect(
    read({
      messages: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'One ' },
            { type: 'text', text: 'two \ud800' },
          ],
        },
        { role: 'assistant', content: null, refusal: null, tool_calls: [] },
      ],
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: 'none',
      top_k: 40,
      frequency_penalty: -0.5,
      repeat_penalty: 1.1,
      repetition_penalty: 1.1,
      temperature: 0,
      top_p: 1,
      max_completion_tokens: 5,
      stop: ['a', 'b'],
      n: 8,
      seed: -3,
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: { type: 'object' } } },
    }),
  ).toEqual({
    model: 'starter',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'One two \ufffd' },
      { role: 'assistant', content: '' },
    ],
    stream: true,
    includeUsage: true,
    temperature: 0,
    topP: 1,
    maxTokens: 5,
    stop: ['a', 'b'],
    responseFormat: { type: 'json_schema', schema: { type: 'object' }, name: 'x', strict: true },
    toolUse: null,
    choices: 8,
    reasoning: { reasoning_effort: 'none' },
    sampling: { top_k: 40, frequency_penalty: -0.5, repeat_penalty: 1.1, repetition_penalty: 1.1 },
    seed: -3,
  })
  expect(read({ stop: 'x', max_tokens: 7, max_completion_tokens: 7 })).toMatchObject({ stop: ['x'], maxTokens: 7 })
})

test('messages keep the names of their participants, except results, whose call names the function', () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '' } }
  const { messages: named } = read({
    messages: [
      { role: 'system', name: 'rules', content: 'Be brief.' },
      { role: 'user', name: 'Ann', content: 'Hi' },
      { role: 'user', name: null, content: 'Hi' },
      { role: 'assistant', name: 'helper', content: null, tool_calls: [call] },
      { role: 'tool', name: 'f', tool_call_id: 'c', content: '1' },
    ],
  })
  expect(named).toEqual([
    { role: 'system', name: 'rules', content: 'Be brief.' },
    { role: 'user', name: 'Ann', content: 'Hi' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', name: 'helper', content: '', toolCalls: [{ id: 'c', name: 'f', arguments: {} }] },
    { role: 'tool', toolCallId: 'c', content: '1' },
  ])
})

test('nested fields that are null count as absent', () => {
  const json_schema = { name: 'x', description: null, schema: null, strict: null }
  expect(
    read({
      stream: true,
      stream_options: { include_usage: null },
      response_format: { type: 'json_schema', json_schema },
    }),
  ).toMatchObject({ includeUsage: false, responseFormat: { type: 'json_object' } })
})

test('unsupported fields with values that have no effect are accepted', () => {
  const harmless = { user: 'u', presence_penalty: 0, frequency_penalty: 0, logprobs: false, logit_bias: {}, tools: [] }
  expect(read({ ...harmless, tool_choice: 'auto', modalities: ['text'], store: false, metadata: { a: 'b' } })).toEqual(
    read({}),
  )
  expect(read({ verbosity: 'low', prompt_cache_options: { mode: 'explicit' } })).toEqual(read({}))
})

test.each([
  [{ logit_bias: { 5: 1 } }, 'logit_bias'],
  [{ logprobs: true, tools: [{ type: 'function', function: { name: 'f' } }] }, 'logprobs'],
  [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
  [{ store: true }, 'store'],
  [{ typical_p: 0.5 }, 'typical_p'],
  [{ messages: [{ role: 'user', content: 'x', weight: 0 }] }, 'messages[0].weight'],
  [{ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, 'messages[0].content[0]'],
  [{ response_format: { type: 'json_object', schema: {} } }, 'response_format.schema'],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'x', rules: 1 } } },
    'response_format.json_schema.rules',
  ],
  [{ stream: true, stream_options: { include_obfuscation: true } }, 'stream_options.include_obfuscation'],
])('%j is refused as unsupported, and the error names the field', (fields, param) => {
  expect(fault(() => read(fields))).toEqual(['unsupported', param, expect.stringContaining(param)])
})

test.each([
  [{ temperature: 2.1 }, 'temperature', 'temperature must be a finite number from 0 to 2, got 2.1.'],
  [{ temperature: -0.1 }, 'temperature', 'temperature must be a finite number from 0 to 2, got -0.1.'],
  [{ temperature: '1' }, 'temperature', "temperature must be a finite number from 0 to 2, got '1'."],
  [{ top_p: 0 }, 'top_p', 'top_p must be a finite number above 0 and at most 1, got 0.'],
  [{ top_p: 1.01 }, 'top_p', 'top_p must be a finite number above 0 and at most 1, got 1.01.'],
  [{ max_tokens: 0 }, 'max_tokens', 'max_tokens must be an integer of at least 1, got 0.'],
  [{ max_tokens: 1.5 }, 'max_tokens', 'max_tokens must be an integer of at least 1, got 1.5.'],
  [{ top_logprobs: 5 }, 'top_logprobs', 'top_logprobs is only for requests with logprobs true.'],
  [{ top_logprobs: 21 }, 'top_logprobs', 'top_logprobs must be an integer from 0 to 20, got 21.'],
  [{ n: 9 }, 'n', 'n must be an integer from 1 to 8, got 9.'],
  [{ n: 0 }, 'n', 'n must be an integer from 1 to 8, got 0.'],
  [{ seed: 0.5 }, 'seed', 'seed must be an integer, got 0.5.'],
  [{ stream: 'true' }, 'stream', "stream must be true or false, got 'true'."],
  [{ model: '' }, 'model', "model must be a non-empty string, got ''."],
  [{ model: null }, 'model', 'model is required: a non-empty string.'],
  [{ messages: [] }, 'messages', 'messages must be an array of at least 1 item, got an array of 0 items.'],
  [{ messages: 'Hi' }, 'messages', "messages must be an array of at least 1 item, got 'Hi'."],
  [{ messages: [{ content: 'Hi' }] }, 'messages[0].role', 'messages[0].role is required: a string.'],
  [
    { messages: [{ role: 'assistant', content: 'Hi', reasoning_content: {} }] },
    'messages[0].reasoning_content',
    'messages[0].reasoning_content must be a string.',
  ],
  [
    { messages: [{ role: 'user' }] },
    'messages[0].content',
    'messages[0].content is required: a string or an array of text parts.',
  ],
  [
    { messages: [{ role: 'user', content: 5 }] },
    'messages[0].content',
    'messages[0].content must be a string, an array, or null, got 5.',
  ],
  [
    { messages: [{ role: 'robot', content: '' }] },
    'messages[0].role',
    "messages[0].role must be one of system, developer, user, assistant, tool, got 'robot'.",
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, 'b'] }] },
    'messages[0].content[1]',
    'messages[0].content[1] must be an object such as {"type": "text", "text": "..."}.',
  ],
  [{ stop: '' }, 'stop', 'stop must be a string of 1 to 1000 characters, got 0 characters.'],
  [{ stop: ['a', ''] }, 'stop[1]', 'stop[1] must be a string of 1 to 1000 characters, got 0 characters.'],
  [{ stop: ['a', null] }, 'stop[1]', 'stop[1] must be a string of 1 to 1000 characters, got something else.'],
  [
    { stop: Array.from({ length: 17 }, () => 'a') },
    'stop',
    'stop must be a string or an array of at most 16 items, got an array of 17 items.',
  ],
  [
    { response_format: { type: 'xml' } },
    'response_format.type',
    "response_format.type must be one of text, json_object, and json_schema, got 'xml'.",
  ],
  [
    { response_format: { type: 'json_schema' } },
    'response_format.json_schema',
    'response_format.json_schema is required: an object.',
  ],
  [
    { max_tokens: 1, max_completion_tokens: 2 },
    'max_completion_tokens',
    'max_tokens and max_completion_tokens are two names of one limit. Send one.',
  ],
  [{ stream_options: {} }, 'stream_options', 'stream_options is only for requests with stream true.'],
  ...['', 'x'.repeat(65), 5].map((name): [object, string, string] => [
    { messages: [{ role: 'user', content: 'x', name }] },
    'messages[0].name',
    'messages[0].name must be a string of 1 to 64 characters.',
  ]),
  [{ temprature: 1 }, 'temprature', "'temprature' is not a field of this request. Leave it out."],
  [{ __proto__x: 1, toString: 1 }, '__proto__x', "'__proto__x' is not a field of this request. Leave it out."],
])('%j is refused, and the error names the field', (fields, param, message) => {
  expect(fault(() => read(fields))).toEqual(['invalid_request', param, message])
})

test.each(['{"const": 1e400}', '{"enum": [1, [-1e400]]}', '{"type": "number", "maximum": 1e400}'])(
  'a schema %s with a number that would become null is refused with its location',
  (text) => {
    const schema = parseJson(Buffer.from(`{"type": "object", "properties": {"a/b": ${text}}}`)) as object
    const refusal = (field: string) => [
      'invalid_request',
      field,
      expect.stringMatching(/ has a number at '#\/properties\/a~1b\/\S+' that is out of range\. Use one within/),
    ]
    const format = { type: 'json_schema', json_schema: { name: 'x', schema } }
    const tool = { type: 'function', function: { name: 'f', parameters: schema } }
    expect(fault(() => read({ response_format: format }))).toEqual(refusal('response_format.json_schema.schema'))
    expect(fault(() => read({ tools: [tool] }))).toEqual(refusal('tools[0].function.parameters'))
  },
)

test.each([
  ['a b', 'must be 1 to 128 letters, digits, _, and -, got "a b".'],
  [5, 'must be 1 to 128 letters, digits, _, and -, got 5.'],
  [undefined, 'is required: 1 to 128 letters, digits, _, and -.'],
])('a function named %j is refused, and the error shows the name', (name, message) => {
  const field = 'tools[0].function.name'
  const tools = [{ type: 'function', function: { name } }]
  expect(fault(() => read({ tools }))).toEqual(['invalid_request', field, `${field} ${message}`])
})

test('a body that is not an object is refused', () => {
  const form = ['invalid_request', null]
  expect(fault(() => readChatRequest(undefined, TEXT))).toEqual([
    ...form,
    'A JSON body is required, with the header Content-Type: application/json.',
  ])
  expect(fault(() => readChatRequest([], TEXT))).toEqual([
    ...form,
    'The JSON body must be an object, got an array of 0 items.',
  ])
})

test('bytes that are not UTF-8, not JSON, or nested too deeply are refused', () => {
  const parse = (bytes: Uint8Array | string) => fault(() => parseJson(Buffer.from(bytes)))
  expect(parse(Buffer.from([0x22, 0xff, 0x22]))).toEqual(['invalid_request', null, 'The body is not valid UTF-8.'])
  expect(parse('{"a":')).toEqual(['invalid_request', null, expect.stringContaining('The body is not valid JSON: ')])
  expect(parse('['.repeat(200_000) + ']'.repeat(200_000))).toEqual([
    'invalid_request',
    null,
    'The JSON body is nested deeper than 100 levels.',
  ])
  expect(parse(`[${'1,'.repeat(100_001)}1]`)).toEqual([
    'invalid_request',
    null,
    'The JSON body has more than 100000 values.',
  ])
  expect(parseJson(Buffer.from(JSON.stringify('\\",['.repeat(100_000))))).toBeTypeOf('string')
  expect(parseJson(Buffer.from('\ufeff{"a":[1]}'))).toEqual({ a: [1] })
  expect(parseJson(Buffer.alloc(0))).toBeUndefined()
})
