/** How calls of functions stand in the text of a reply, as a kind of models was trained to write them. */
export interface ToolSyntax {
  /** What a call begins with. No other text of a reply has it in it, or, where not `anywhere`, begins with it. */
  readonly trigger: string
  readonly anywhere: boolean
  /** Follows the trigger, once. */
  readonly open: string
  /** What each call is: these, with its name and its arguments as JSON after the first two. */
  readonly beforeName: string
  readonly beforeArguments: string
  readonly afterArguments: string
  /** From one call to the `beforeName` of the next; null: a reply has one call only. */
  readonly between: string | null
  /** Behind the last. */
  readonly end: string
}

/** Hermes 2 Pro, Qwen 2.5 and 3. Also what models are told to write whose template knows no functions. */
export const HERMES: ToolSyntax = {
  trigger: '<tool_call>',
  anywhere: true,
  open: '',
  beforeName: '{"name": "',
  beforeArguments: '", "arguments": ',
  afterArguments: '}',
  between: '\n</tool_call>\n<tool_call>\n',
  end: '\n</tool_call>',
}

/** Llama 3.1 and later: the whole reply is one call. */
const LLAMA: ToolSyntax = {
  trigger: '{"name"',
  anywhere: false,
  open: '',
  beforeName: ': "',
  beforeArguments: '", "parameters": ',
  afterArguments: '}',
  between: null,
  end: '',
}

/** Mistral 7B v0.3, Nemo and others of that time. */
const MISTRAL: ToolSyntax = {
  trigger: '[TOOL_CALLS]',
  anywhere: true,
  open: '[',
  beforeName: '{"name": "',
  beforeArguments: '", "arguments": ',
  afterArguments: '}',
  between: ', ',
  end: ']',
}

/** Functions in a chat template: which syntax it teaches, and whether it tells the model of them by itself. */
export interface TemplateTools {
  readonly syntax: ToolSyntax
  /** It takes `tools` and `tool_calls`; else both are written into the messages. */
  readonly native: boolean
  /** It refuses ids of calls that are not nine letters and digits. */
  readonly shortIds: boolean
}

/** By what a template writes itself. Syntaxes that are not known here are not trusted: such models get ours. */
export const templateTools = (template: string | null): TemplateTools => {
  const text = template ?? ''
  const known = (syntax: ToolSyntax): TemplateTools => ({ syntax, native: true, shortIds: syntax === MISTRAL })
  if (/\btools\b/.test(text)) {
    if (text.includes('<tool_call>') && !/<function=|<arg_key>/.test(text)) return known(HERMES)
    if (text.includes('[TOOL_CALLS]') && !text.includes('[ARGS]')) return known(MISTRAL)
    if (text.includes('{"name": "') && text.includes('"parameters": ')) return known(LLAMA)
  }
  return { syntax: HERMES, native: false, shortIds: false }
}

/** Whether a call has begun in what was written of a reply. */
export const isTriggered = ({ trigger, anywhere }: ToolSyntax, written: string): boolean =>
  anywhere ? written.includes(trigger) : written.startsWith(trigger)
