import { defineConfig } from '@playwright/test';
import tests from '../playwright.config.ts';

// Not a test: it makes pictures.
export default defineConfig({ ...tests, testDir: '.', outputDir: '../test-results/scene' });
