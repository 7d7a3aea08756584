import type { RouteQuestion } from '../../api/available-models.ts'

type Question = Pick<RouteQuestion, 'messages' | 'responseFormat'>

/** A reason why a request may need a bigger model. */
export interface Signal {
  readonly name: string
  /** The score of this signal alone at full strength, 0..1. */
  readonly weight: number
  /** Its strength in this request, 0..1. */
  readonly value: number
}

/** The parts of a request that signals use, extracted once so that a decision takes microseconds. */
interface Reading {
  readonly question: Question
  /** The user's last turn; for a long one, its beginning and its end, where instructions usually are. */
  readonly requested: string
  readonly lower: string
  readonly askedCharacters: number
  readonly otherCharacters: number
  readonly userTurns: number
}

const READ_CHARACTERS = 4_000

const clamp = (value: number): number => Math.min(1, Math.max(0, value))

/** 0 up to `from`, 1 from `to` on, and equal steps per doubling in between. */
const doublings = (count: number, from: number, to: number): number => {
  if (count <= from) return 0
  return clamp(Math.log2(count / from) / Math.log2(to / from))
}

const countOf = (text: string, pattern: RegExp, atMost: number): number => {
  let found = 0
  pattern.lastIndex = 0
  while (found < atMost && pattern.test(text)) found++
  return found
}

const FENCE = /```|~~~/
const CODE_SIGNS =
  /\b\w+\([^)\n]{0,80}\)\s*[;{:]|=>|[!=]==?|&&|\|\||::|\b(?:def|const|function|import|class|return|SELECT|async)\b\s+[\w{*"']|\b(?:stack trace|traceback|typescript|javascript|python|rust|regex|sql|dockerfile|kubernetes|unit tests?|compiler?|refactor|debug|algorithms?)\b/gi
const MATHS_SIGNS =
  /\d\s{0,3}[-+*/^×÷=]\s{0,3}\d|\\(?:frac|int|sum|sqrt)\b|[∫∑√≤≥≠∂∞π]|\b(?:prove|proof|theorem|lemma|equations?|integrals?|derivatives?|probability|matrix|matrices|eigen\w+|logarithm|modulo|polynomial|calculate|percent(?:age)?)\b/gi
const STEPS =
  /\b(?:step[- ]by[- ]step|first\b.{1,200}?\bthen|explain (?:why|how)|compare|contrast|analy[sz]e|evaluate|pros and cons|trade-?offs?|derive|reason(?:ing)?|plan|strategy|design|diagnose|summari[sz]e|critique|justify|consequences|implications)\b/gis
const CONSTRAINTS =
  /\b(?:must(?: not)?|exactly|at (?:least|most)|no more than|fewer than|without (?:using|any)|only use|do not|don't|never|always|in the (?:style|format) of|valid json|as (?:json|csv|yaml|xml|a table)|between \d+ and \d+|words? or (?:less|fewer)|include (?:a|the|all)|ensure)\b|^\s{0,4}(?:[-*•]|\d{1,2}[.)])\s/gim
const MAKING =
  /\b(?:write|implement|build|create|develop|design|refactor|optimi[sz]e|prove|derive|translate|rewrite|draft|compose)\b/
const EXPLAINING = /\b(?:how|why|explain|describe|what if|should i|difference between)\b/
const LOOKING_UP =
  /^\W{0,3}(?:what(?:'s| is| are| was)|who|when|where|which|is|are|does|do|did|can|hi|hello|hey|thanks)\b/
const QUESTION_MARKS = /[?？؟]/g

/**
 * Scores the task that the words name: making above explaining above looking up. English only; other languages rely on the
 * structural signals.
 */
const taskOf = ({ lower, requested }: Reading): number => {
  if (MAKING.test(lower)) return requested.length < 60 ? 0.5 : 1
  if (EXPLAINING.test(lower)) return 0.5
  return LOOKING_UP.test(lower) ? 0 : 0.15
}

/** Counts properties and levels of a schema, up to the limit in `left`. */
const schemaSize = (schema: unknown, left: { nodes: number }): void => {
  if (typeof schema !== 'object' || schema === null || left.nodes <= 0) return
  left.nodes--
  for (const value of Object.values(schema)) schemaSize(value, left)
}

const SCHEMA_NODES = 40

const structureOf = ({ question: { responseFormat } }: Reading): number => {
  if (responseFormat.type === 'text') return 0
  if (responseFormat.type === 'json_object') return 0.3
  const left = { nodes: SCHEMA_NODES }
  schemaSize(responseFormat.schema, left)
  return 0.3 + (0.7 * (SCHEMA_NODES - left.nodes)) / SCHEMA_NODES
}

const SIGNALS: readonly {
  readonly name: string
  readonly weight: number
  readonly of: (reading: Reading) => number
}[] = [
  // Lengths in characters, about four per token of English.
  { name: 'length', weight: 0.4, of: ({ askedCharacters }) => doublings(askedCharacters, 80, 8_000) },
  { name: 'context', weight: 0.3, of: ({ otherCharacters }) => doublings(otherCharacters, 1_000, 64_000) },
  {
    name: 'code',
    weight: 0.45,
    of: ({ requested }) => (FENCE.test(requested) ? 1 : countOf(requested, CODE_SIGNS, 4) / 4),
  },
  { name: 'maths', weight: 0.45, of: ({ requested }) => countOf(requested, MATHS_SIGNS, 3) / 3 },
  { name: 'steps', weight: 0.45, of: ({ requested }) => countOf(requested, STEPS, 3) / 3 },
  { name: 'constraints', weight: 0.4, of: ({ requested }) => countOf(requested, CONSTRAINTS, 5) / 5 },
  { name: 'structure', weight: 0.3, of: structureOf },
  { name: 'turns', weight: 0.2, of: ({ userTurns }) => doublings(userTurns, 1, 16) },
  { name: 'questions', weight: 0.25, of: ({ requested }) => (countOf(requested, QUESTION_MARKS, 5) - 1) / 4 },
  { name: 'task', weight: 0.4, of: taskOf },
]

const read = (question: Question): Reading => {
  let last = -1
  let characters = 0
  let userTurns = 0
  for (const [index, { role, content }] of question.messages.entries()) {
    characters += content.length
    if (role !== 'user') continue
    userTurns++
    last = index
  }
  const whole = question.messages[last]?.content ?? ''
  const requested =
    whole.length <= 2 * READ_CHARACTERS
      ? whole
      : `${whole.slice(0, READ_CHARACTERS)}\n${whole.slice(whole.length - READ_CHARACTERS)}`
  return {
    question,
    requested,
    lower: requested.toLowerCase(),
    askedCharacters: whole.length,
    otherCharacters: characters - whole.length,
    userTurns,
  }
}

/** Returns every signal with its strength, in a fixed order. */
export const signalsOf = (question: Question): readonly Signal[] => {
  const reading = read(question)
  return SIGNALS.map(({ name, weight, of }) => ({ name, weight, value: clamp(of(reading)) }))
}
