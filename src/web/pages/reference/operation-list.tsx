import { useDeferredValue, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { SearchField } from '../../parts/form.tsx'
import { Quiet } from '../../parts/layout.tsx'
import { type Group, type Operation, search } from './document.ts'
import styles from './reference.module.css'

export const Method = ({ method }: { readonly method: string }) => (
  <span className={styles.method} data-method={method}>
    {method === 'DELETE' ? 'DEL' : method}
  </span>
)

interface OperationListProps {
  readonly operations: readonly Operation[]
  readonly groups: readonly Group[]
}

/** All operations by group; a search filters them. */
export const OperationList = ({ operations, groups }: OperationListProps) => {
  const [query, setQuery] = useState('')
  const [location] = useLocation()
  const found = new Set(search(operations, useDeferredValue(query)))
  const shown = groups
    .map((group) => ({ ...group, operations: group.operations.filter((one) => found.has(one)) }))
    .filter((group) => group.operations.length > 0)
  return (
    <nav className={styles.list} aria-label="Operations">
      <SearchField label="Search the API" value={query} onChange={setQuery} />
      <div role="status" className="visually-hidden">
        {query !== '' && `${found.size} operations found`}
      </div>
      {shown.length === 0 && <Quiet>No operation matches.</Quiet>}
      {shown.map((group) => (
        <div key={group.name}>
          <h2>{group.name}</h2>
          <ul>
            {group.operations.map(({ id, method, summary, path }) => (
              <li key={id}>
                <Link href={`/docs/${id}`} title={path} aria-current={location === `/docs/${id}` ? 'page' : undefined}>
                  <Method method={method} />
                  <span>{summary}</span>
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}
