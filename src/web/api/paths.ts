import type { paths } from '../../client/client.ts'

type JsonOf<Operation> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Body } } }
}
  ? Body
  : never

/** Paths that are read as JSON. */
export type ReadPath = {
  [Path in keyof paths]: paths[Path] extends { get: infer Operation }
    ? [JsonOf<Operation>] extends [never]
      ? never
      : Path
    : never
}[keyof paths]

type OperationOf<Path extends ReadPath> = paths[Path] extends { get: infer Operation } ? Operation : never

export type AnswerOf<Path extends ReadPath> = JsonOf<OperationOf<Path>>

type Part<Operation, Name extends 'path' | 'query'> = Operation extends { parameters: infer Parameters }
  ? Name extends keyof Parameters
    ? NonNullable<Parameters[Name]>
    : never
  : never

type PathPart<Operation> = [Part<Operation, 'path'>] extends [never] ? object : { path: Part<Operation, 'path'> }
type QueryPart<Operation> = [Part<Operation, 'query'>] extends [never] ? object : { query?: Part<Operation, 'query'> }

/** What a path is asked with: `{ path: { job_id }, query: { limit } }`, as the API's document has it. */
export type ParamsOf<Path extends ReadPath> = PathPart<OperationOf<Path>> & QueryPart<OperationOf<Path>>
