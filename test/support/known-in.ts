/** The parameters that a row reads in one dialect: what only the other one reads is ignored there. */
import type { Dialect } from '../../src/rest-facade/dialects.ts';
import type { Row } from '../../src/rest-facade/row.ts';
import { declarationOf, type RowParameter } from '../../src/rest-facade/row-parameters.ts';

/** Those of them that the row reads in this dialect. */
export async function parametersIn(row: Row, dialect: Dialect): Promise<readonly RowParameter[]> {
  const { parameters, namesIn } = await declarationOf(row);
  return parameters.filter(({ names: [name = ''] }) => {
    const [head = '', inner] = name.replaceAll(']', '').split('[');
    const below = namesIn[dialect].get(head);
    return below !== undefined && (inner === undefined || below.has(inner));
  });
}
