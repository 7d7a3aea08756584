import { Empty, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Code } from './code.tsx'
import { type ApiDocument, componentOf, exampleOf, type Schema } from './document.ts'
import { FieldTable, fieldsOf, typeOf } from './fields.tsx'

const UP = { href: '/docs', label: 'All operations' }

/** A named schema: its fields and an example. */
export const SchemaPage = ({ document, name }: { readonly document: ApiDocument; readonly name: string }) => {
  const schema = componentOf(document, 'schemas', name) as Schema | undefined
  if (schema === undefined)
    return (
      <>
        <PageHeader title="No such schema" up={UP} />
        <Empty title="The API has no schema with this name" />
      </>
    )
  const fields = fieldsOf(document, schema)
  return (
    <>
      <PageHeader title={name} up={UP} />
      <Panel title="Fields" aside={schema.description} flush={fields.length > 0}>
        {fields.length > 0 ? (
          <FieldTable label={`Fields of ${name}`} fields={fields} />
        ) : (
          <Quiet>
            <code>{typeOf(schema)}</code>
          </Quiet>
        )}
      </Panel>
      <Panel title="Example">
        <Code label="example value" text={JSON.stringify(exampleOf(document, schema), null, 2)} />
      </Panel>
    </>
  )
}
