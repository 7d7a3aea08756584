import { useState } from 'react'
import { Badge } from '../../parts/cells.tsx'
import { Fields, SelectField, TextField } from '../../parts/form.tsx'
import { Button, Panel, Problem, Quiet } from '../../parts/layout.tsx'
import { onSubmit, useAbortableAction } from '../../parts/use-action.ts'
import { duration } from '../../text/format.ts'
import { faultOfBody, type Inputs, isForm, isJson, missingIn } from './call.ts'
import { Code } from './code.tsx'
import { type ApiDocument, type Operation, type Parameter, resolve, type Schema } from './document.ts'
import styles from './reference.module.css'
import { send, type TryItResponse } from './send.ts'

const wordsOf = (document: ApiDocument, { schema }: Parameter): readonly string[] | null => {
  const { type, enum: words } = resolve<Schema>(document, schema)
  return type === 'boolean' ? ['true', 'false'] : (words?.map(String) ?? null)
}

interface ParameterProps {
  readonly document: ApiDocument
  readonly parameter: Parameter
  readonly value: string
  readonly onChange: (value: string) => void
}

const ParameterField = ({ document, parameter, ...field }: ParameterProps) => {
  const { name, required } = parameter
  const words = wordsOf(document, parameter)
  if (words !== null)
    return (
      <SelectField
        label={name}
        options={[['', required ? 'Choose' : 'Not sent'], ...words.map((word) => [word, word] as const)]}
        {...field}
      />
    )
  return <TextField label={name} required={required} {...field} />
}

const ResponseView = ({ received: response }: { readonly received: TryItResponse }) => {
  const { status, ms, type, headers, text, more, open } = response
  return (
    <div className={styles.answer}>
      <p className={styles.status} role="status">
        <Badge state={String(status)} tone={status < 300 ? 'good' : status < 500 ? 'warn' : 'bad'} />
        <span>{open ? 'open' : duration(ms)}</span>
        <Quiet>{type}</Quiet>
      </p>
      {text !== '' && <Code label="response body" text={text} />}
      {more && <Quiet>{text === '' ? 'Binary data is not shown.' : 'The rest is not shown here.'}</Quiet>}
      <details>
        <summary>Headers</summary>
        <Code label="response headers" text={headers.map(([name, value]) => `${name}: ${value}`).join('\n')} />
      </details>
    </div>
  )
}

interface TryItProps {
  readonly document: ApiDocument
  readonly operation: Operation
  readonly inputs: Inputs
  readonly onChange: (inputs: Inputs) => void
}

/** A form for one operation. Requests are real: they go to this service. */
export const TryIt = ({ document, operation, inputs, onChange }: TryItProps) => {
  const { method, parameters, body } = operation
  const [file, setFile] = useState<File | null>(null)
  const [response, setResponse] = useState<TryItResponse | null>(null)
  const { error, busy, run, stop } = useAbortableAction()
  const takesText = isJson(operation) || isForm(operation)
  const fault = takesText ? faultOfBody(operation, inputs.body) : null
  const takesFile = body !== null && !isJson(operation)
  const incomplete = missingIn(operation, inputs).length > 0 || fault !== null
  const submit = onSubmit(() => {
    setResponse(null)
    run((signal) => send(operation, inputs, { file, signal, onResponse: setResponse }))
  })
  const onStop = (): void => {
    stop()
    setResponse((now) => now && { ...now, open: false })
  }
  return (
    <Panel title="Try it" aside={method === 'GET' ? 'Read-only' : 'Sent with your session: this can change data'}>
      <form onSubmit={submit}>
        <Fields>
          <div className={styles.inputs}>
            {parameters.map((parameter) => (
              <ParameterField
                key={parameter.name}
                document={document}
                parameter={parameter}
                value={inputs.parameters[parameter.name] ?? ''}
                onChange={(value) =>
                  onChange({ ...inputs, parameters: { ...inputs.parameters, [parameter.name]: value } })
                }
              />
            ))}
          </div>
          {takesText && (
            <label className={styles.body}>
              <span>{isForm(operation) ? 'Fields, as JSON' : 'Body'}</span>
              <textarea
                aria-label={isForm(operation) ? 'Fields, as JSON' : 'Body'}
                rows={Math.min(16, inputs.body.split('\n').length + 1)}
                spellCheck={false}
                value={inputs.body}
                aria-invalid={fault !== null}
                onChange={(event) => onChange({ ...inputs, body: event.target.value })}
              />
              {fault !== null && <small>{fault}</small>}
            </label>
          )}
          {takesFile && (
            <label className={styles.body}>
              <span>File</span>
              <input type="file" onChange={(event) => setFile(event.target.files?.[0] ?? null)} />
            </label>
          )}
          <div className={styles.languages}>
            {/* The keys prevent React from reusing the element: otherwise the click on Stop would submit the form. */}
            {busy ? (
              <Button key="stop" tone="danger" onClick={onStop}>
                Stop
              </Button>
            ) : (
              <Button key="send" type="submit" tone={method === 'DELETE' ? 'danger' : 'primary'} disabled={incomplete}>
                Send {method}
              </Button>
            )}
          </div>
        </Fields>
      </form>
      {error && <Problem error={error} />}
      {response && <ResponseView received={response} />}
    </Panel>
  )
}
