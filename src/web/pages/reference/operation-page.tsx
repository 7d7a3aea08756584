import { useState } from 'react'
import { Button, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { type Inputs, isForm, pathOf } from './call.ts'
import { Code } from './code.tsx'
import { type ApiDocument, exampleOf, nameOf, type Operation, resolve, type Schema } from './document.ts'
import { FieldTable, fieldsOf, fieldsOfParameters, typeOf } from './fields.tsx'
import { Method } from './operation-list.tsx'
import styles from './reference.module.css'
import { LANGUAGES, type Language, sampleOf } from './samples.ts'
import { TryIt } from './try-it.tsx'

/** The initial text of the body: its example; for a form, only the text fields. */
const firstBody = (document: ApiDocument, operation: Operation): string => {
  if (operation.body === null) return ''
  const example = exampleOf(document, operation.body.schema)
  if (!isForm(operation)) return JSON.stringify(example, null, 2)
  const { properties = {} } = resolve<Schema>(document, operation.body.schema)
  const text = Object.entries((example ?? {}) as object).filter(([name]) => properties[name]?.format !== 'binary')
  return JSON.stringify(Object.fromEntries(text), null, 2)
}

const Samples = ({ operation, inputs }: { readonly operation: Operation; readonly inputs: Inputs }) => {
  const [language, setLanguage] = useState<Language>('curl')
  return (
    <Panel title="Example">
      <fieldset className={styles.languages} aria-label="Language">
        {LANGUAGES.map((name) => (
          <Button key={name} aria-pressed={name === language} onClick={() => setLanguage(name)}>
            {name}
          </Button>
        ))}
      </fieldset>
      <Code
        label={`${language} example`}
        text={sampleOf(language, { operation, inputs, origin: window.location.origin })}
      />
    </Panel>
  )
}

const BodyPanel = ({ document, operation }: { readonly document: ApiDocument; readonly operation: Operation }) => {
  const { body } = operation
  if (body === null) return null
  const fields = fieldsOf(document, body.schema)
  const name = nameOf(body.schema)
  return (
    <Panel title={name === null ? 'Body' : `Body: ${name}`} aside={body.type} flush={fields.length > 0}>
      {fields.length > 0 ? <FieldTable label="Fields of the body" fields={fields} /> : <Quiet>Bytes</Quiet>}
    </Panel>
  )
}

const Responses = ({ operation }: { readonly operation: Operation }) => (
  <Panel title="Responses">
    <dl className={styles.answers}>
      {operation.responses.map(({ status, description, body }) => (
        <div key={status}>
          <dt>{status}</dt>
          <dd>
            {description}
            {body !== null && (
              <>
                {' '}
                <code>{typeOf(body.schema)}</code> {body.type !== 'application/json' && <Quiet>{body.type}</Quiet>}
              </>
            )}
          </dd>
        </div>
      ))}
    </dl>
  </Panel>
)

interface OperationPageProps {
  readonly document: ApiDocument
  readonly operation: Operation
}

/** An operation: its parameters and responses, code samples, and a form to try it. */
export const OperationPage = ({ document, operation }: OperationPageProps) => {
  const [inputs, setInputs] = useState<Inputs>(() => ({ parameters: {}, body: firstBody(document, operation) }))
  const { summary, description, method, parameters, isPublic } = operation
  return (
    <>
      <PageHeader title={summary} up={{ href: '/docs', label: 'All operations' }} />
      <p className={styles.path}>
        <Method method={method} />
        <code>{pathOf(operation, inputs, false)}</code>
        {isPublic && <Quiet>needs no key</Quiet>}
      </p>
      {description && <p className={styles.description}>{description}</p>}
      {parameters.length > 0 && (
        <Panel title="Parameters" flush>
          <FieldTable label="Parameters" fields={fieldsOfParameters(parameters)} />
        </Panel>
      )}
      <BodyPanel document={document} operation={operation} />
      <Samples operation={operation} inputs={inputs} />
      <TryIt document={document} operation={operation} inputs={inputs} onChange={setInputs} />
      <Responses operation={operation} />
    </>
  )
}
