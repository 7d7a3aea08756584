import { jsonOrNull } from '../../../domain/parse-json.ts'
import { quoteShell } from '../../../domain/shell-word.ts'
import { fieldsIn, headersOf, type Inputs, isForm, isJson, pathOf, sendsBody } from './call.ts'
import type { Operation, Schema } from './document.ts'

export const LANGUAGES = ['curl', 'Python', 'TypeScript'] as const
export type Language = (typeof LANGUAGES)[number]

interface Sample {
  readonly operation: Operation
  readonly inputs: Inputs
  /** The service's address. */
  readonly origin: string
}

const curl = ({ operation, inputs, origin }: Sample): string => {
  const { method, isPublic, body } = operation
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoteShell(origin + pathOf(operation, inputs, true))}`,
    ...(isPublic ? [] : ['-H "authorization: Bearer $SERVICE_API_KEY"']),
    ...headersOf(operation, inputs).map(([name, value]) => `-H ${quoteShell(`${name}: ${value}`)}`),
  ]
  if (isForm(operation)) {
    lines.push('-F file=@weights.safetensors')
    for (const [name, value] of fieldsIn(jsonOrNull(inputs.body) ?? {}))
      lines.push(`-F ${quoteShell(`${name}=${value}`)}`)
  } else if (isJson(operation)) lines.push(`-H 'content-type: application/json'`, `-d ${quoteShell(inputs.body)}`)
  else if (body !== null) lines.push(`-H 'content-type: ${body.type}'`, '--data-binary @part.bin')
  return lines.join(' \\\n  ')
}

/** Formats JSON as Python: `true` -> `True`. */
export const pythonOf = (value: unknown, indent = ''): string => {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  const lines = Array.isArray(value)
    ? value.map((item) => inner + pythonOf(item, inner))
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${pythonOf(item, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return lines.length === 0 ? open + close : `${open}\n${lines.join(',\n')},\n${indent}${close}`
}

const python = ({ operation, inputs, origin }: Sample): string => {
  const { method, isPublic, body } = operation
  const headers = [
    ...(isPublic ? [] : [`"authorization": f"Bearer {os.environ['SERVICE_API_KEY']}"`]),
    ...headersOf(operation, inputs).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`),
  ]
  const given = [
    JSON.stringify(origin + pathOf(operation, inputs, true)),
    ...(headers.length === 0 ? [] : [`headers={${headers.join(', ')}}`]),
    ...(isForm(operation)
      ? [
          'files={"file": open("weights.safetensors", "rb")}',
          `data=${pythonOf(Object.fromEntries(fieldsIn(jsonOrNull(inputs.body) ?? {})), '    ')}`,
        ]
      : isJson(operation)
        ? [`json=${pythonOf(jsonOrNull(inputs.body) ?? {}, '    ')}`]
        : body === null
          ? []
          : ['data=open("part.bin", "rb")']),
  ]
  const imports = [...(isPublic ? [] : ['import os']), 'import requests']
  return `${imports.join('\n')}\n\nresponse = requests.${method.toLowerCase()}(\n${given.map((line) => `    ${line},\n`).join('')})\nresponse.raise_for_status()\nprint(response.text)`
}

const isName = (text: string): boolean => /^[a-z_$][\w$]*$/i.test(text)

/** Formats JSON as TypeScript, without unnecessary quotes around names. */
const scriptOf = (value: unknown, indent: string): string =>
  JSON.stringify(value, null, 2)
    .replace(/^(\s*)"((?:[^"\\]|\\.)*)":/gm, (whole, space: string, name: string) =>
      isName(name) ? `${space}${name}:` : whole,
    )
    .replaceAll('\n', `\n${indent}`)

/** Converts a parameter to its type: a number, a boolean, or a string. */
const typed = (type: Schema['type'], text: string): unknown =>
  (type === 'integer' || type === 'number') && Number.isFinite(Number(text))
    ? Number(text)
    : type === 'boolean'
      ? text === 'true'
      : text

/** Responses that the client does not parse as JSON: files, logs, and streams. */
const PARSED_AS: Readonly<Record<string, string>> = {
  'application/octet-stream': 'blob',
  'application/x-ndjson': 'text',
  'text/event-stream': 'stream',
}

/** Returns code for a call and its result. A HEAD response has no body, so its sample uses the response itself. */
const taken = ({ method, responses }: Operation, call: string): string => {
  const hasBody = responses.some(({ status, body }) => status.startsWith('2') && body !== null)
  if (hasBody) return `const answer = await unwrap(${call})`
  return method === 'HEAD' ? `const { response } = await ${call}` : `await unwrap(${call})`
}

const typescript = ({ operation, inputs, origin }: Sample): string => {
  const { method, path, parameters, isPublic, body } = operation
  const paramsIn = (place: string): Record<string, unknown> =>
    Object.fromEntries(
      parameters.flatMap(({ name, in: where, required, schema }) => {
        const value = inputs.parameters[name] ?? ''
        if (where !== place || (value === '' && !required)) return []
        return [[name, value === '' ? `<${name}>` : typed(schema.type, value)]]
      }),
    )
  const places = ['path', 'query', 'header'].map((place) => [place, paramsIn(place)] as const)
  const params = Object.fromEntries(places.filter(([, values]) => Object.keys(values).length > 0))
  const success = operation.responses.find(({ status }) => status.startsWith('2'))
  const parseAs = PARSED_AS[success?.body?.type ?? '']
  const options = [
    ...(Object.keys(params).length === 0 ? [] : [`params: ${scriptOf(params, '  ')}`]),
    ...(isJson(operation) ? [`body: ${scriptOf(jsonOrNull(inputs.body) ?? {}, '  ')}`] : []),
    ...(isForm(operation) ? [`body: { file, ...${scriptOf(jsonOrNull(inputs.body) ?? {}, '  ')} }`] : []),
    ...(body !== null && !isForm(operation) && !isJson(operation)
      ? ['body: bytes', 'bodySerializer: (body) => body']
      : []),
    ...(parseAs === undefined ? [] : [`parseAs: '${parseAs}'`]),
  ]
  const key = isPublic ? '' : ', apiKey: process.env.SERVICE_API_KEY'
  const form = isForm(operation) ? "const file = await openAsBlob('weights.safetensors')\n" : ''
  const call = options.length === 0 ? `'${path}'` : `'${path}', {\n${options.map((line) => `  ${line},\n`).join('')}}`
  return `${isForm(operation) ? "import { openAsBlob } from 'node:fs'\n" : ''}import { ${method === 'HEAD' ? 'createClient' : 'createClient, unwrap'} } from 'tributary/client'

const api = createClient({ baseUrl: '${origin}'${key} })
${form}${taken(operation, `api.${method}(${call})`)}`
}

const WRITERS: Readonly<Record<Language, (sample: Sample) => string>> = {
  curl,
  Python: python,
  TypeScript: typescript,
}

/** Returns a code sample with the given inputs; `<name>` marks missing ones. */
export const sampleOf = (language: Language, { operation, inputs, origin }: Sample): string => {
  const isLeftOut = isJson(operation) && !sendsBody(operation, inputs.body)
  return WRITERS[language]({ operation: isLeftOut ? { ...operation, body: null } : operation, inputs, origin })
}
