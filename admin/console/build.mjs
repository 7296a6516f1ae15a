// Bundles src into a folder: node build.mjs [FOLDER]. The same sources and packages give the same bytes.
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "terser";

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, "src");
const target = process.argv[2] ?? join(here, "dist");
const notice = "/* gearstalkd, Apache-2.0. With Preact (c) Jason Miller, MIT; htm (c) Google, Apache-2.0. */";

// Templates are strings to esbuild: their indentation would be kept. htm drops line ends with the
// blanks around them, so fewer blanks mean the same.
const withoutIndentation = {
  name: "without-indentation",
  setup: ({ onLoad }) => onLoad({ filter: /src\/.*\.js$/ }, async ({ path }) =>
    ({ contents: (await readFile(path, "utf8")).replace(/\n[ \t]+/g, "\n"), loader: "js" })),
};

await mkdir(target, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: [join(source, "app.js"), join(source, "app.css")],
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome123", "firefox120", "safari17.5"],
  charset: "utf8",
  legalComments: "none",
  plugins: [withoutIndentation],
  logOverride: { "import-is-undefined": "error" },
  logLevel: "warning",
});
// Terser names nested variables shorter than esbuild does: 3 KB less when compressed.
const bundle = join(target, "app.js");
const { code } = await minify(await readFile(bundle, "utf8"), { ecma: 2020, compress: { passes: 3, pure_getters: true, keep_fargs: false, inline: 1 } });
await writeFile(bundle, `${notice}\n${code}\n`);
for (const file of ["index.html", "icon.svg"]) await copyFile(join(source, file), join(target, file));
