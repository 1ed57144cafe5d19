// swift-tools-version: 6.2
import PackageDescription

// Every target uses Swift 6 mode. These features of the next mode are enabled early.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Only debug builds, and so the tests, check that accesses to a property do not overlap. The checks of properties that the
// runtime reads for each object and each row take a tenth of its instructions. Swift's own standard library does without
// them too.
let unchecked: [SwiftSetting] = [
  .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))
]

// The runtime's modules are compiled as whole modules in debug builds too. Otherwise the compiler processes a few files
// at a time and reads the declarations of all other files for each batch, which costs an app a third more. Several
// threads generate code, as in a release build. The other flags suppress the warning and the remark about this setting.
let whole =
  settings + [
    // Without this flag the compiler verifies its own intermediate code, which takes a sixtieth of its time.
    .unsafeFlags(["-Xfrontend", "-disable-llvm-verify"], .when(platforms: [.linux])),
    .unsafeFlags(
      [
        "-whole-module-optimization", "-disable-batch-mode", "-num-threads", "4", "-suppress-remarks",
        "-no-emit-module-separately-wmo",
      ], .when(platforms: [.linux], configuration: .debug)),
    // Release builds have line tables as their debug information. Stack traces name functions, files and lines as
    // before, and the compiler does without the description of each variable, which costs it a tenth of its time.
    .unsafeFlags(
      ["-Xfrontend", "-gline-tables-only"], .when(platforms: [.linux], configuration: .release)),
  ] + unchecked

// The optimiser prefers small code in the runtime, which takes it a sixth less time and makes a fifth less code. Functions
// whose speed suffers carry `@_optimize(speed)`. On Linux only, as above.
//
// Some of the optimiser's passes take a tenth of its time and find next to nothing in these modules. The last one of the
// first list, which finds data races, only gives diagnostics, and debug builds have them. The second list names what LLVM
// does without: vectors of single operations, constraints between conditions, and the order of machine instructions.
let small =
  whole + [
    .unsafeFlags(
      ["-Osize"]
        + [
          "bcopts", "release-hoisting", "late-release-hoisting", "retain-sinking", "send-non-sendable",
        ].flatMap { ["-Xllvm", "-sil-disable-pass=\($0)"] }
        + ["vectorize-slp", "enable-constraint-elimination", "enable-misched"].flatMap {
          ["-Xllvm", "-\($0)=false"]
        },
      .when(platforms: [.linux], configuration: .release))
  ]

// For code that runs once for a build or once for a version of a model, but not for each object or row. Optimising it
// would take longer than optimised code could ever save. On Linux only, as above.
let unoptimized =
  whole + [.unsafeFlags(["-Onone"], .when(platforms: [.linux], configuration: .release))]

// The generator too: each app that uses the plugin compiles it, and it runs for a moment when a model has changed.
let tool =
  settings + [.unsafeFlags(["-Onone"], .when(platforms: [.linux], configuration: .release))]

let log = Target.Dependency.product(
  name: "Logging", package: "swift-log", condition: .when(traits: ["SwiftLog"]))

// The stores on a server, whose URLs cdstore and todo take.
let server = Target.Dependency.target(name: "CDPostgresStore", condition: .when(traits: ["PostgreSQL"]))

// The tool that the plugins run.
let generator = Target.Dependency.target(name: "cdgen", condition: .when(traits: ["Generator"]))

let package = Package(
  name: "cdgen",
  // These minimums come from Synchronization's Mutex, which protects the state that contexts share.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "CDRuntime", targets: ["CDRuntime"]),
    // For the tests of apps: stores of old versions, and checks of their migration.
    .library(name: "CDMigrationTesting", targets: ["CDMigrationTesting"]),
    // For apps that open the SQLite stores that they had with Core Data.
    .library(name: "CDCoreDataStore", targets: ["CDCoreDataStore"]),
    // For servers and other apps whose stores are on a PostgreSQL server. It needs the system's libpq.
    .library(name: "CDPostgresStore", targets: ["CDPostgresStore"]),
    // Passes the log of the stores to swift-log. It needs the trait `SwiftLog`.
    .library(name: "CDSwiftLog", targets: ["CDSwiftLog"]),
    // For tools that generate Swift from models themselves, and for the measurements in Benchmarks.
    .library(name: "CDGenerator", targets: ["CDGenerator", "CDModel"]),
    .executable(name: "cdgen", targets: ["cdgen"]),
    .executable(name: "cdgen-graph", targets: ["cdgen-graph"]),
    .executable(name: "cdstore", targets: ["cdstore"]),
    .executable(name: "todo", targets: ["todo"]),
    .plugin(name: "CDGenPlugin", targets: ["CDGenPlugin"]),
    .plugin(name: "CDGenCommand", targets: ["CDGenCommand"]),
    .plugin(name: "CDGenReadCommand", targets: ["CDGenReadCommand"]),
  ],
  traits: [
    // The package manager builds the tools of a plugin for each app that depends on the package, even if the app does
    // not use the plugin. Such an app can set `traits: []` on its dependency and then compiles only the runtime.
    .default(enabledTraits: ["Generator"]),
    .trait(name: "Generator", description: "The plugins, and the generator that they run."),
    // Without the trait, cdstore and todo do not need the system's libpq.
    .trait(name: "PostgreSQL", description: "URLs of stores on a PostgreSQL server for cdstore and todo."),
    // Without the trait, the package manager does not even resolve swift-log.
    .trait(name: "SwiftLog", description: "The product CDSwiftLog, which passes the log to swift-log."),
  ],
  dependencies: [
    // The command lines of cdgen, cdstore and todo.
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    // Only the target CDSwiftLog uses it, and only with the trait.
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CLibYAML", pkgConfig: "yaml-0.1",
      providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
    // The values of attributes, and JSON. They are a separate module so that the compiler can build it in parallel.
    .target(name: "CDValues", swiftSettings: whole),
    .target(name: "CDModel", dependencies: ["CDValues"], swiftSettings: small),
    // The mapping of objects from one version of a model to the next.
    .target(name: "CDMapping", dependencies: ["CDModel"], swiftSettings: unoptimized),
    // What several tools say about models and migration steps. The runtime does not need it.
    .target(name: "CDTooling", dependencies: ["CDMapping", "CDModel"], swiftSettings: tool),
    .target(
      name: "CDSchema", dependencies: ["CDMapping", "CDModel", "CDTooling", "CLibYAML"], swiftSettings: tool),
    // Reads the property lists of archives and of the metadata of Core Data's stores. Foundation's reader has no limits
    // for recursion and expansion.
    .target(name: "CDPropertyList", swiftSettings: settings),
    // The names of a model's elements in Xcode and in Core Data's stores. The runtime does not need them.
    .target(name: "CDXcodeNames", dependencies: ["CDModel"], swiftSettings: tool),
    // Reads and writes Xcode's models and mapping models without an XML library.
    .target(
      name: "CDXcode", dependencies: ["CDMapping", "CDModel", "CDSchema", "CDPropertyList", "CDXcodeNames"],
      swiftSettings: tool),
    .target(name: "CDGenerator", dependencies: ["CDMapping", "CDModel", "CDTooling"], swiftSettings: tool),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    // Instructions of the processor that Swift has no functions for. It has only a header.
    .systemLibrary(name: "CProcessor"),
    // Uses SQLite's own interface. A library above it would only add a layer between statements and objects, and every
    // user's build would have to compile it.
    .target(
      name: "CDRuntime", dependencies: ["CDMapping", "CDModel", "CProcessor", "CSQLite"], swiftSettings: small
    ),
    // Reads Core Data's SQLite stores as a store format. An app without such stores does not compile it.
    .target(
      name: "CDCoreDataStore",
      dependencies: ["CDRuntime", "CDMapping", "CDModel", "CDPropertyList", "CDXcodeNames", "CSQLite"],
      swiftSettings: settings),
    // Makes one engine of several. Only a coordinator with a store of another engine than SQLite needs it.
    .target(
      name: "CDCombinedStores", dependencies: ["CDRuntime", "CDModel"], swiftSettings: settings + unchecked),
    .systemLibrary(
      name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    // Opens stores on a PostgreSQL server. An app without such stores neither compiles it nor needs libpq.
    .target(
      name: "CDPostgresStore", dependencies: ["CDCombinedStores", "CDRuntime", "CDModel", "CPostgreSQL"],
      swiftSettings: settings + unchecked),
    .target(name: "CDSwiftLog", dependencies: ["CDRuntime", log], swiftSettings: settings),
    // Independent of any test library: it throws errors and returns results, and the test compares them.
    .target(name: "CDMigrationTesting", dependencies: ["CDRuntime"], swiftSettings: settings),
    // What the commands of the programs share: output, files and errors. Users of the libraries do not compile it.
    .target(
      name: "CDConsole",
      dependencies: ["CDModel", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      swiftSettings: tool),
    .executableTarget(
      name: "cdgen",
      dependencies: [
        "CDConsole", "CDGenerator", "CDSchema", "CDTooling", "CDMapping", "CDModel", "CDXcode",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: tool),
    // Draws models as SVG for `cdgen graph`. No plugin depends on it, so that no app compiles the layout of diagrams.
    .executableTarget(
      name: "cdgen-graph",
      dependencies: [
        "CDConsole", "CDGenerator", "CDSchema", "CDModel",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "cdstore",
      dependencies: [
        "CDConsole", "CDRuntime", "CDSchema", "CDTooling", "CDMapping", "CDModel", "CDXcode",
        "CDCoreDataStore", server, .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "todo",
      dependencies: [
        "CDConsole", "CDRuntime", server,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: settings, plugins: ["CDGenPlugin"]),
    .plugin(name: "CDGenPlugin", capability: .buildTool(), dependencies: [generator]),
    .plugin(
      name: "CDGenCommand",
      capability: .command(
        intent: .custom(
          verb: "cdgen", description: "Check models and generate Swift from them."),
        permissions: [
          .writeToPackageDirectory(reason: "cdgen writes generated Swift and model files.")
        ]),
      dependencies: [generator]),
    // The commands that only read. They are a separate plugin, because the package manager asks for the permissions of a
    // plugin, and not for those of a command.
    .plugin(
      name: "CDGenReadCommand",
      capability: .command(
        intent: .custom(verb: "cdgen-read", description: "Check models, and show diagrams and migrations.")),
      dependencies: [generator]),
    // Random numbers that are the same in every run.
    .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: settings),
    // A model with every construct, changes of it, and random models.
    .target(
      name: "SampleModels", dependencies: ["CDModel", "SeededRandom"], path: "Tests/SampleModels",
      swiftSettings: settings),
    // Predicates that were collected from other implementations' tests, with what they must give.
    .target(
      name: "PredicateCases", dependencies: ["CDModel"], path: "Tests/PredicateCases", swiftSettings: settings
    ),
    // A reference model of the object graph, and random programs that compare the runtime with it.
    .target(
      name: "GraphTester", dependencies: ["CDRuntime", "CDModel", "SeededRandom"], path: "Tests/GraphTester",
      swiftSettings: settings),
    .executableTarget(
      name: "graph-tester", dependencies: ["GraphTester"], path: "Tests/GraphTesterTool",
      swiftSettings: settings),
    .testTarget(name: "GraphTesterTests", dependencies: ["GraphTester"], swiftSettings: settings),
    .testTarget(
      name: "CDValuesTests", dependencies: ["CDValues", "SeededRandom"], swiftSettings: settings),
    .testTarget(
      name: "CDModelTests", dependencies: ["CDModel", "PredicateCases", "SampleModels", "SeededRandom"],
      swiftSettings: settings),
    .testTarget(
      name: "CDMappingTests", dependencies: ["CDMapping", "CDModel", "SampleModels"], swiftSettings: settings),
    .testTarget(
      name: "CDSchemaTests",
      dependencies: ["CDSchema", "CDMapping", "CDModel", "SampleModels", "SeededRandom"],
      exclude: ["Cases"],
      swiftSettings: settings),
    .testTarget(
      name: "CDXcodeTests",
      dependencies: [
        "CDXcode", "CDXcodeNames", "CDPropertyList", "CDSchema", "CDMapping", "CDModel", "SeededRandom",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "CDGeneratorTests",
      dependencies: [
        "CDGenerator", "CDSchema", "CDMapping", "CDModel", "CDRuntime", "CDCoreDataStore", "SeededRandom",
      ],
      exclude: ["Cases"], swiftSettings: settings),
    .testTarget(
      name: "CDGenGraphTests", dependencies: ["cdgen-graph", "CDGenerator", "CDModel"],
      swiftSettings: settings),
    // The expected files of the generator's tests, as links. They are run with real stores.
    .testTarget(
      name: "GeneratedCodeTests", dependencies: ["CDRuntime", "CDMigrationTesting", "ShadowedNames"],
      swiftSettings: settings),
    // The expected file whose types have the same names as the runtime's. It is a separate module, which the tests
    // above use.
    .target(
      name: "ShadowedNames", dependencies: ["CDRuntime"], path: "Tests/ShadowedNames",
      swiftSettings: settings),
    .testTarget(
      name: "CDMigrationTestingTests", dependencies: ["CDMigrationTesting", "CDRuntime"],
      swiftSettings: settings),
    // SQLite files that fail when a test wants it. It is in C, because SQLite's interface for this is.
    .target(name: "CFailingVFS", dependencies: ["CSQLite"], path: "Tests/CFailingVFS"),
    // Empty without the trait: swift test --traits Generator,SwiftLog --filter CDSwiftLogTests
    .testTarget(
      name: "CDSwiftLogTests", dependencies: ["CDSwiftLog", "CDRuntime", log], swiftSettings: settings),
    .testTarget(
      name: "CDRuntimeTests",
      dependencies: [
        "CDRuntime", "CDCombinedStores", "CDPostgresStore", "CSQLite", "CFailingVFS", "PredicateCases",
        "SeededRandom",
      ],
      swiftSettings: settings),
    // Needs a server: see .ci/postgresql.
    .testTarget(
      name: "CDPostgresStoreTests", dependencies: ["CDPostgresStore", "CDRuntime", "CDModel", "CDSchema"],
      swiftSettings: settings),
    .testTarget(
      name: "CDCoreDataStoreTests",
      dependencies: [
        "CDCoreDataStore", "CDXcode", "CDSchema", "CDRuntime", "CDMapping", "CDModel", "CDPropertyList",
        "CSQLite",
        "SeededRandom",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "CLITests",
      dependencies: [
        "cdgen", "cdgen-graph", "cdstore", "todo", "CDRuntime", "CDSchema", "CDMapping", "CDModel", "CSQLite",
        "PredicateCases", "SeededRandom",
      ],
      swiftSettings: settings),
    // A second model, whose version files are links to the first model's, with the app's own migration code. It is not
    // a test target, because a test target would link the generator twice: as the plugin's tool, and for the tests
    // above.
    .target(
      name: "QuietToDo", dependencies: ["CDRuntime"], path: "Tests/QuietToDo", swiftSettings: settings,
      plugins: ["CDGenPlugin"]),
    // A program that migrates a list of this model. Tests kill it during the migration.
    .executableTarget(
      name: "migrate-quiet-todo", dependencies: ["QuietToDo"], path: "Tests/QuietToDoMigrator",
      swiftSettings: settings),
    // A program that keeps a store open and calls operations that need the same file: see .ci/attack/processes.
    .executableTarget(
      name: "hold-store", dependencies: ["CDCoreDataStore", "CDRuntime", "CDMapping", "CDModel"],
      path: "Tests/StoreHolder", swiftSettings: settings),
    // A program that saves on a server while the server fails: see .ci/failover.
    .executableTarget(
      name: "save-on-server", dependencies: ["CDPostgresStore", "CDRuntime", "CDModel"],
      path: "Tests/ServerSaver", swiftSettings: settings),
    .testTarget(
      name: "ToDoStoryTests", dependencies: ["QuietToDo", "CDMigrationTesting", "CDRuntime"],
      swiftSettings: settings),
    .testTarget(name: "PluginTests", swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
