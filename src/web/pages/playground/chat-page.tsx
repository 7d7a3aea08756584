import { type KeyboardEvent, useState } from 'react'
import { FieldRow, NumberField, SelectField } from '../../parts/form.tsx'
import { Aside, Button, Columns, PageHeader, Panel, Problem } from '../../parts/layout.tsx'
import { onSubmit } from '../../parts/use-action.ts'
import { count } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import styles from './playground.module.css'
import { Transcript } from './transcript.tsx'
import { useChat } from './use-chat.ts'

const DEFAULTS = { model: '', beside: '', temperature: 0.7, tokens: 256 }
const MAX_TOKENS = 131_072
const MAX_CHARACTERS = 500_000

interface ComposerProps {
  readonly busy: boolean
  /** The reason why nothing can be sent, or null. */
  readonly fault: string | null
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}

/** Input for a question to all models in view; Enter sends it. */
const Composer = ({ busy, fault, onSend, onStop }: ComposerProps) => {
  const [text, setText] = useState('')
  const send = (): void => {
    if (busy || fault !== null || text.trim() === '') return
    onSend(text.trim())
    setText('')
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  return (
    <form className={styles.composer} onSubmit={onSubmit(send)}>
      <textarea
        aria-label="Message"
        placeholder="Message (Enter sends, Shift+Enter starts a new line)"
        rows={3}
        maxLength={MAX_CHARACTERS}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {busy ? (
        <Button key="stop" tone="danger" onClick={onStop}>
          Stop
        </Button>
      ) : (
        <Button key="send" type="submit" tone="primary" disabled={fault !== null || text.trim() === ''}>
          Send
        </Button>
      )}
      {fault !== null && <Problem error={new Error(fault)} />}
    </form>
  )
}

const isTemperature = (value: number): boolean => value >= 0 && value <= 2
const isTokens = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= MAX_TOKENS

const faultOf = (temperature: number, tokens: number): string | null => {
  if (!isTemperature(temperature)) return 'Temperature must be a number from 0 to 2.'
  return isTokens(tokens) ? null : `Max tokens must be a whole number from 1 to ${count(MAX_TOKENS)}.`
}

/** A chat with one model, or with two side by side. */
export const ChatPage = ({ models }: { readonly models: readonly string[] }) => {
  const [state, change] = usePageState(DEFAULTS)
  const [left, right] = [useChat(), useChat()]
  // The typed values; only valid ones are stored in the address.
  const [temperature, setTemperature] = useState(state.temperature)
  const [tokens, setTokens] = useState(state.tokens)
  const model = models.includes(state.model) ? state.model : models[0]!
  const beside = models.includes(state.beside) ? state.beside : null
  const send = (text: string): void => {
    const settings = { temperature, maxTokens: tokens }
    left.ask(text, { ...settings, model })
    if (beside !== null) right.ask(text, { ...settings, model: beside })
  }
  const chats = [left, right]
  const named = models.map((name) => [name, name] as const)
  return (
    <>
      <PageHeader title="Playground">
        <Aside>
          <Button
            disabled={left.turns.length + right.turns.length === 0}
            onClick={() => {
              for (const chat of chats) chat.clear()
            }}
          >
            Clear
          </Button>
        </Aside>
      </PageHeader>
      <div className={styles.settings}>
        <FieldRow>
          <SelectField label="Model" value={model} options={named} onChange={(name) => change({ model: name })} />
          <SelectField
            label="Compare with"
            value={beside ?? ''}
            options={[['', 'No other model'], ...named]}
            onChange={(name) => change({ beside: name })}
          />
          <NumberField
            label="Temperature"
            min={0}
            max={2}
            step="any"
            value={temperature}
            onChange={(typed) => {
              setTemperature(typed)
              if (isTemperature(typed)) change({ temperature: typed })
            }}
          />
          <NumberField
            label="Max tokens"
            min={1}
            max={MAX_TOKENS}
            step={1}
            value={tokens}
            onChange={(typed) => {
              setTokens(typed)
              if (isTokens(typed)) change({ tokens: typed })
            }}
          />
        </FieldRow>
      </div>
      <Columns>
        <Panel title={model}>
          <Transcript label={`Chat with ${model}`} turns={left.turns} />
        </Panel>
        {beside !== null && (
          <Panel title={beside === model ? `${beside} again` : beside}>
            <Transcript label={`Second chat with ${beside}`} turns={right.turns} />
          </Panel>
        )}
      </Columns>
      <Composer
        busy={chats.some(({ busy }) => busy)}
        fault={faultOf(temperature, tokens)}
        onSend={send}
        onStop={() => {
          for (const chat of chats) chat.stop()
        }}
      />
    </>
  )
}
