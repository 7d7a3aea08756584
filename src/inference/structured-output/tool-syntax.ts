/** How function calls are written in a reply, as a family of models was trained. */
export interface ToolSyntax {
  /** The start of a call. Other text never contains it, or, without `anywhere`, never starts with it. */
  readonly trigger: string
  readonly anywhere: boolean
  /** Follows the trigger once. */
  readonly open: string
  /** Surround the name and the arguments of each call, which are JSON. */
  readonly beforeName: string
  readonly beforeArguments: string
  readonly afterArguments: string
  /** From one call to the `beforeName` of the next; null if a reply has only one call. */
  readonly between: string | null
  /** Follows the last call. */
  readonly end: string
}

/** Hermes 2 Pro, Qwen 2.5 and 3. Also for models whose template does not support functions, which are instructed to use it. */
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
export const LLAMA: ToolSyntax = {
  trigger: '{"name"',
  anywhere: false,
  open: '',
  beforeName: ': "',
  beforeArguments: '", "parameters": ',
  afterArguments: '}',
  between: null,
  end: '',
}

/** Mistral 7B v0.3, Nemo, and others from that time. */
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

/** Function support of a chat template: its syntax, and whether it describes the functions itself. */
export interface TemplateTools {
  readonly syntax: ToolSyntax
  /** It takes `tools` and `tool_calls`. Otherwise both are written into the messages. */
  readonly native: boolean
  /** It accepts only call ids of nine letters and digits. */
  readonly shortIds: boolean
}

/** Detects the syntax in a template's text. Models with an unknown syntax get the default one. */
export const templateTools = (template: string | null): TemplateTools => {
  const text = template ?? ''
  const known = (syntax: ToolSyntax): TemplateTools => ({ syntax, native: true, shortIds: syntax === MISTRAL })
  if (/\btools\b/.test(text)) {
    if (text.includes('<tool_call>') && !/<function=|<arg_key>/.test(text)) return known(HERMES)
    if (text.includes('[TOOL_CALLS]') && !text.includes('[ARGS]')) return known(MISTRAL)
    // A reply that begins with reasoning is not one call as a whole.
    const isLlama = text.includes('{"name": "') && text.includes('"parameters": ')
    if (isLlama && !text.includes('</think>')) return known(LLAMA)
  }
  return { syntax: HERMES, native: false, shortIds: false }
}

/** Beside a format, a reply is either calls or a text in that format, which may contain the trigger. */
export const syntaxBeside = (format: { readonly type: string }, syntax: ToolSyntax): ToolSyntax =>
  format.type === 'text' ? syntax : { ...syntax, anywhere: false }

/** True if a call has started in the text of a reply. */
export const isTriggered = ({ trigger, anywhere }: ToolSyntax, written: string): boolean =>
  anywhere ? written.includes(trigger) : written.startsWith(trigger)
