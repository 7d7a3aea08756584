import { Empty, PageHeader } from './layout.tsx'

/** The page for unknown addresses. */
export const NotFound = () => (
  <>
    <PageHeader title="No such page" />
    <Empty title="There is nothing at this address">The navigation lists all pages.</Empty>
  </>
)
