import { join } from 'node:path'
import type { ChatCompletionChunk, ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import type { Engine } from '../engines/engine.ts'
import { openLlamaEngine } from '../engines/llama/open-engine.ts'
import { withTemplate } from '../models/gguf/with-template.fixture.ts'
import { openStarter, STARTER, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter()
  server = await serveForTest(engine)
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

const weather = {
  name: 'get_weather',
  description: 'Tells the weather.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { enum: ['Paris', 'Rome'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
}
const tools = [
  { type: 'function' as const, function: weather },
  { type: 'function' as const, function: { name: 'now' } },
]
const asking = (fields: Partial<ChatCompletionCreateParamsNonStreaming>): ChatCompletionCreateParamsNonStreaming => ({
  model: 'starter',
  temperature: 0,
  messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
  tools,
  ...fields,
})
const named = (name: string) => ({ type: 'function' as const, function: { name } })

const post = async (body: object) => {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

test('a named function is called once, with valid arguments', async () => {
  const { choices } = await server.client.chat.completions.create(asking({ tool_choice: named('get_weather') }))
  const [call] = choices[0]!.message.tool_calls!
  expect(choices).toEqual([
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: expect.stringMatching(/^call_[0-9a-f]{24}$/),
            type: 'function',
            function: { name: 'get_weather', arguments: expect.any(String) },
          },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ])
  const { city, days, ...rest } = JSON.parse((call as { function: { arguments: string } }).function.arguments)
  expect([['Paris', 'Rome'].includes(city), days >= 1 && days <= 9, rest]).toEqual([true, true, {}])
})

test('required forces a call at any temperature in every choice, and several only if that is allowed', async () => {
  const { choices } = await server.client.chat.completions.create(
    asking({ tool_choice: 'required', parallel_tool_calls: false, temperature: 2, n: 4, seed: 3 }),
  )
  for (const { message, finish_reason } of choices) {
    expect(message.tool_calls).toHaveLength(1)
    expect(['get_weather', 'now']).toContain((message.tool_calls![0] as { function: { name: string } }).function.name)
    expect(finish_reason).toBe('tool_calls')
  }
})

test('a call that max_tokens cuts is closed and reported as cut; one that cannot fit is refused', async () => {
  const note = {
    name: 'note',
    parameters: { type: 'object', properties: { text: { type: 'string', minLength: 20 } }, required: ['text'] },
  }
  const request = asking({ tools: [{ type: 'function', function: note }], tool_choice: named('note') })
  const whole = await post({ ...request, max_tokens: 2000 })
  const smaller = Math.min(whole.body.usage.completion_tokens - 1, 90)
  const { body } = await post({ ...request, max_tokens: smaller })
  const [choice] = body.choices
  expect(choice.finish_reason).toBe('length')
  expect(JSON.parse(choice.message.tool_calls[0].function.arguments).text.length).toBeGreaterThanOrEqual(20)
  const cut = await post({ ...request, max_tokens: 5 })
  expect(cut).toMatchObject({ status: 400, body: { error: { param: 'max_tokens' } } })
  expect(cut.body.error.message).toMatch(
    /^The shortest function call that is valid takes \d+ tokens, but the limit is 5\. /,
  )
})

test('stop sequences do not cut calls', async () => {
  const request = asking({ tool_choice: 'required', parallel_tool_calls: false })
  const callOf = async (fields: object) => {
    const { body } = await post({ ...request, ...fields })
    const [{ message, finish_reason }] = body.choices
    return [message.tool_calls.map((call: { function: object }) => call.function), finish_reason, message.content]
  }
  const whole = await callOf({})
  expect(whole[1]).toBe('tool_calls')
  for (const stop of ['"name"', '"', '<', ' ', 'now', 'days']) expect(await callOf({ stop })).toEqual(whole)
})

test('a stream starts with the call and continues with pieces of its arguments', async () => {
  const stream = await server.client.chat.completions.create({
    ...asking({ tool_choice: named('get_weather') }),
    stream: true,
  })
  const chunks: ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const deltas = chunks.map(({ choices }) => choices[0]!.delta)
  expect(deltas[0]).toEqual({ role: 'assistant', content: '' })
  expect(deltas[1]!.tool_calls).toEqual([
    { index: 0, id: expect.any(String), type: 'function', function: { name: 'get_weather', arguments: '' } },
  ])
  const pieces = deltas.slice(2, -1).map(({ tool_calls }) => tool_calls![0]!)
  expect(pieces.every((piece) => piece.index === 0 && piece.id === undefined)).toBe(true)
  expect(JSON.parse(pieces.map((piece) => piece.function!.arguments).join(''))).toHaveProperty('city')
  expect(chunks.at(-1)!.choices[0]).toMatchObject({ delta: {}, finish_reason: 'tool_calls' })

  const whole = server.client.chat.completions.stream({ ...asking({ tool_choice: named('now') }), stream: true })
  expect((await whole.finalChatCompletion()).choices[0]!.message.tool_calls).toMatchObject([
    { function: { name: 'now', arguments: expect.stringMatching(/^\{\s*\}$/) } },
  ])
})

test('tool_choice none leaves the functions out, and a conversation continues with their results', async () => {
  const plain = {
    model: 'starter',
    temperature: 0,
    messages: [{ role: 'user', content: 'What is the capital of France?' }],
  }
  const { body: without } = await post(plain)
  const { body: none } = await post({ ...plain, tools, tool_choice: 'none' })
  expect(none.choices).toEqual(without.choices)
  const { status, body } = await post(
    asking({
      messages: [
        { role: 'user', content: 'What time is it?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'now', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', ...{ name: 'now' }, content: [{ type: 'text', text: '12:00' }] },
      ],
      max_tokens: 8,
    }),
  )
  expect([status, body.choices[0].message.role]).toEqual([200, 'assistant'])
})

test('with a format, a reply is either a valid call or a text in the format; if a call is required, it is one', async () => {
  const json_schema = { name: 'answer', schema: { const: 'none' } }
  const fields = { response_format: { type: 'json_schema' as const, json_schema }, max_tokens: 60 }
  // Both begin with a character that this model seldom writes first.
  const { choices } = await server.client.chat.completions.create(
    asking({ ...fields, max_tokens: 300, parallel_tool_calls: false, n: 8, temperature: 2, seed: 3 }),
  )
  const kinds = choices.map(({ message, finish_reason }) => {
    const called = message.tool_calls?.map(({ id, ...call }) => call)
    if (called === undefined) return [finish_reason, message.content]
    for (const call of called)
      expect(call).toMatchObject({ type: 'function', function: { arguments: expect.stringMatching(/^\{/) } })
    return [finish_reason, message.content, 'called']
  })
  expect(kinds).toContainEqual(['stop', '"none"'])
  expect(kinds).toContainEqual(['tool_calls', null, 'called'])
  expect(new Set(kinds.map((kind) => kind.join())).size).toBe(2)
  const required = await server.client.chat.completions.create(asking({ ...fields, tool_choice: named('get_weather') }))
  expect(required.choices[0]!.message).toMatchObject({
    content: null,
    tool_calls: [{ function: { name: 'get_weather' } }],
  })
  const text = { format: { type: 'json_object' as const } }
  const functions = tools.map(({ function: { name } }) => ({
    type: 'function' as const,
    name,
    parameters: {},
    strict: false,
  }))
  const response = await server.client.responses.create({
    model: 'starter',
    temperature: 0,
    input: 'Hi.',
    text,
    tools: functions,
  })
  expect(JSON.parse(response.output_text)).toEqual(expect.any(Object))
})

test('unsupported functions and choices are refused, and errors name the field', async () => {
  const strange = { ...weather, parameters: { type: 'object', properties: { a: { not: {} } } } }
  const faults = [
    [{ tool_choice: 'always' }, 'tool_choice', 'invalid_request'],
    [{ tool_choice: named('other') }, 'tool_choice', 'invalid_request'],
    [{ tools: [], tool_choice: 'required' }, 'tool_choice', 'invalid_request'],
    [{ tools: [...tools, tools[1]] }, 'tools', 'invalid_request'],
    [{ tools: [named('a b')] }, 'tools[0].function.name', 'invalid_request'],
    [{ tools: [{ type: 'custom' }] }, 'tools[0].type', 'unsupported'],
    [
      { tools: [{ type: 'function', function: { name: 'a', paramters: {} } }] },
      'tools[0].function.paramters',
      'unsupported',
    ],
    [{ tools: [{ type: 'function', function: { name: 'a' }, strict: true }] }, 'tools[0].strict', 'unsupported'],
    [{ tools: [tools[1], { type: 'function', function: strange }] }, 'tools[1].function.parameters', 'unsupported'],
    [{ parallel_tool_calls: 'no' }, 'parallel_tool_calls', 'invalid_request'],
    [{ messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] }, 'messages[0].tool_call_id', 'invalid_request'],
    [
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '[1' } }] }] },
      'messages[0].tool_calls[0].function.arguments',
      'invalid_request',
    ],
  ] as const
  for (const [fields, param, code] of faults) {
    const { status, body } = await post({ ...asking({}), ...fields })
    expect({ status, ...body.error }).toMatchObject({ status: 400, param, code })
  }
  const lax = { type: 'function', function: { ...strange, strict: false } }
  expect((await post({ ...asking({ max_tokens: 60 }), tools: [lax], tool_choice: 'required' })).status).toBe(200)
})

test('a schema that no value matches is refused for a strict function; a non-strict function takes any object', async () => {
  const endless = { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }
  const calling = (strict: boolean) =>
    post({
      ...asking({ tool_choice: 'required', max_tokens: 60 }),
      tools: [{ type: 'function', function: { name: 'endless', strict, parameters: endless } }],
    })
  const refused = await calling(true)
  expect([refused.status, refused.body.error.param, refused.body.error.message]).toEqual([
    400,
    'tools[0].function.parameters',
    "The function 'endless' is strict, and the JSON schema cannot be used: at '#' no value can be valid: the schema requires itself endlessly.",
  ])
  const called = await calling(false)
  expect(called.status, JSON.stringify(called.body)).toBe(200)
  expect(called.body.choices[0].message.tool_calls[0].function.name).toBe('endless')
})

test('under auto, a reply that starts like a call in the syntax of the template becomes a call', async () => {
  // Llama 3's template, except for its text about the functions, which this model was not trained on.
  const chat = `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`
  const template = `{# tools, written as {"name": "f", "parameters": {}} #}${chat}`
  const path = await withTemplate(STARTER, join(await emptyFolder(), 'calls.gguf'), template)
  const calling = await openLlamaEngine({
    name: 'calls',
    path,
    threads: 1,
    slots: 2,
    cacheMegabytes: 0,
    log: () => undefined,
  })
  const other = await serveForTest(calling)
  try {
    const ask = async (content: string) =>
      (
        await other.client.chat.completions.create({
          ...asking({}),
          model: 'calls',
          messages: [{ role: 'user', content }],
        })
      ).choices[0]!
    expect(await ask('What is the capital of France?')).toMatchObject({
      message: { content: 'The capital of France is Paris.' },
      finish_reason: 'stop',
    })
    const { message, finish_reason } = await ask('Give me JSON for Ann who is 30 years old.')
    expect([message.content, message.tool_calls?.length, finish_reason]).toEqual([null, 1, 'tool_calls'])
    const both = asking({ model: 'calls', response_format: { type: 'json_object' } })
    await expect(other.client.chat.completions.create(both)).rejects.toMatchObject({
      status: 400,
      param: 'tools',
      message: expect.stringContaining('function calls as JSON objects'),
    })
  } finally {
    await other.close()
    await calling.close()
  }
})
