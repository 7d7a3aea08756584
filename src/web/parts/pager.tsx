import { Aside, Button, Quiet } from './layout.tsx'

export const PAGE = 100

/** Steps through a list that has more than a page. */
export const Pager = ({
  page,
  total,
  onChange,
}: {
  readonly page: number
  readonly total: number
  readonly onChange: (page: number) => void
}) => {
  const pages = Math.ceil(total / PAGE)
  if (pages <= 1) return null
  return (
    <Aside>
      <Button disabled={page <= 1} onClick={() => onChange(page - 1)}>
        Newer
      </Button>
      <Quiet>{`Page ${page} of ${pages}`}</Quiet>
      <Button disabled={page >= pages} onClick={() => onChange(page + 1)}>
        Older
      </Button>
    </Aside>
  )
}
