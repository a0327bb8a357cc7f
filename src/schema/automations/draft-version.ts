/** The number of a draft, as callers name it. */
import { z } from 'zod';

export const draftVersionInput = z.int().min(1);
