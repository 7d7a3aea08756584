import { Empty, PageHeader } from './layout.tsx'

/** For an address that no page has. */
export const NotFound = () => (
  <>
    <PageHeader title="No such page" />
    <Empty title="There is nothing at this address">The navigation lists all pages.</Empty>
  </>
)
