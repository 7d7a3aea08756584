import { type Static, Type } from 'typebox'
import { isObject } from '../../domain/is-object.ts'
import type { Tool, ToolUse } from '../engines/engine.ts'
import { shown } from '../structured-output/schema-fault.ts'
import { assertFinite, assertOnly, invalid, unsupported } from './request-body.ts'

/** The maximum of OpenAI's API. */
const MAX_TOOLS = 128

export const TOOL_FIELDS = {
  tools: Type.Optional(Type.Array(Type.Unknown(), { maxItems: MAX_TOOLS })),
  tool_choice: Type.Optional(Type.Union([Type.String(), Type.Object({})])),
  parallel_tool_calls: Type.Optional(Type.Boolean()),
}

/** Fields of a function that agents send and that have no effect here. */
export const HINTS = ['cache_control', 'defer_loading', 'eager_input_streaming', 'input_examples', 'allowed_callers']

const ToolBody = Type.Object(TOOL_FIELDS)

/** OpenAI allows 64 characters, Anthropic 128. */
const NAME = /^[A-Za-z0-9_-]{1,128}$/

/**
 * Reads a function's fields in the format of any of the APIs.
 * @param at its location, for errors @param schemaField the name of its schema field @param others further fields to accept
 */
export const readTool = (
  given: object,
  at: string,
  schemaField = 'parameters',
  others: readonly string[] = [],
): Tool => {
  const { name, description, strict, [schemaField]: parameters } = given as Readonly<Record<string, unknown>>
  assertOnly(given, at, ['name', 'description', schemaField, 'strict', ...others])
  if (typeof name !== 'string' || !NAME.test(name))
    throw invalid(
      (name ?? null) === null
        ? `${at}.name is required: 1 to 128 letters, digits, _, and -.`
        : `${at}.name must be 1 to 128 letters, digits, _, and -, got ${shown(name)}.`,
      `${at}.name`,
    )
  if ((description ?? null) !== null && typeof description !== 'string')
    throw invalid(`${at}.description must be a string.`, `${at}.description`)
  if ((parameters ?? null) !== null && !isObject(parameters))
    throw invalid(`${at}.${schemaField} must be a JSON schema.`, `${at}.${schemaField}`)
  assertFinite(parameters, `${at}.${schemaField}`)
  if ((strict ?? null) !== null && typeof strict !== 'boolean')
    throw invalid(`${at}.strict must be true or false.`, `${at}.strict`)
  const type = isObject(parameters) ? parameters.type : 'object'
  if (type !== undefined && type !== 'object')
    throw invalid(
      `${at}.${schemaField}.type must be 'object', because arguments are an object.`,
      `${at}.${schemaField}.type`,
    )
  return {
    name,
    description: (description as string | null | undefined) ?? null,
    // A function without a schema has no parameters.
    parameters: isObject(parameters) ? parameters : { type: 'object', properties: {} },
    strict: strict === true,
  }
}

const checkNames = (tools: readonly Tool[]): void => {
  const names = new Set<string>()
  for (const { name } of tools) {
    if (names.has(name)) throw invalid(`tools has two functions '${name}'. Give each a unique name.`, 'tools')
    names.add(name)
  }
}

const readFunction = (given: unknown, index: number): Tool => {
  const at = `tools[${index}]`
  const { type, function: definition } = isObject(given) ? given : {}
  if (type !== 'function') {
    throw unsupported(`${at}.type must be 'function': tools of other types are not supported.`, `${at}.type`)
  }
  if (!isObject(definition)) throw invalid(`${at}.function is required: an object with a name.`, `${at}.function`)
  assertOnly(given, at, ['type', 'function', ...HINTS])
  return readTool(definition, `${at}.function`, 'parameters', HINTS)
}

/** Applies the tool choice: a mode, or the name of a function. @throws InferenceError if it cannot be satisfied */
export const toolUseOf = (
  tools: readonly Tool[],
  choice: 'auto' | 'none' | 'required' | { readonly name: string },
  parallel: boolean,
): ToolUse | null => {
  checkNames(tools)
  if (choice === 'none') return null
  if (tools.length === 0) {
    if (choice === 'auto') return null
    throw invalid(
      'tool_choice requires a call, but tools has no functions. Send functions, or leave tool_choice out.',
      'tool_choice',
    )
  }
  if (typeof choice === 'object' && !tools.some(({ name }) => name === choice.name))
    throw invalid(`tool_choice names '${choice.name.slice(0, 128)}', which is not in tools.`, 'tool_choice')
  return { tools, choice, parallel }
}

const CHOICES = ['auto', 'none', 'required'] as const

const readChoice = (given: string | object | undefined): Parameters<typeof toolUseOf>[1] => {
  if (given === undefined) return 'auto'
  if (typeof given === 'string') {
    const choice = CHOICES.find((known) => known === given)
    if (choice !== undefined) return choice
  } else {
    const { type, function: called } = given as Readonly<Record<string, unknown>>
    if (type === 'function' && isObject(called) && typeof called.name === 'string') return { name: called.name }
    if (type === 'allowed_tools')
      throw unsupported("tool_choice of type 'allowed_tools' is not supported: send only those tools.", 'tool_choice')
  }
  const form = '{"type": "function", "function": {"name": "..."}}'
  throw invalid(`tool_choice must be one of ${CHOICES.join(', ')}, or ${form}.`, 'tool_choice')
}

/** Reads a chat's functions and how they may be called; null if none may. @throws InferenceError with the field */
export const readToolUse = ({
  tools = [],
  tool_choice,
  parallel_tool_calls,
}: Static<typeof ToolBody>): ToolUse | null =>
  toolUseOf(tools.map(readFunction), readChoice(tool_choice), parallel_tool_calls ?? true)
