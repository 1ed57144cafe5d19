// swift-tools-version: 6.2
import PackageDescription

// Every target is built in Swift 6 mode; these are the parts of the next mode that we take early.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// The runtime's modules are compiled whole in debug builds too. Otherwise the compiler takes a few files at a time, and
// reads for each such batch what all the others declare, which costs an app a third more. More than one thread writes
// code, as in a release build; the other flags say that the warning and the remark about this are known.
let whole =
  settings + [
    .unsafeFlags(
      [
        "-whole-module-optimization", "-disable-batch-mode", "-num-threads", "4", "-suppress-remarks",
        "-no-emit-module-separately-wmo",
      ], .when(platforms: [.linux], configuration: .debug))
  ]

// For code that runs once for a build, or once for a version of a model, and not for each object or row. To optimise it
// takes longer than an optimised build could ever save. On Linux, as above.
let unoptimized =
  whole + [.unsafeFlags(["-Onone"], .when(platforms: [.linux], configuration: .release))]

// What the plugins run.
let generator = Target.Dependency.target(name: "cdgen", condition: .when(traits: ["Generator"]))

let package = Package(
  name: "cdgen",
  // Synchronization's Mutex, which guards what contexts share, sets these.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "CDRuntime", targets: ["CDRuntime"]),
    // For the tests of apps: stores of old versions, and what becomes of them.
    .library(name: "CDMigrationTesting", targets: ["CDMigrationTesting"]),
    // For apps that open the SQLite stores that they had with Core Data.
    .library(name: "CDCoreDataStore", targets: ["CDCoreDataStore"]),
    // For tools that make Swift of models themselves, and for the measurements in Benchmarks.
    .library(name: "CDGenerator", targets: ["CDGenerator", "CDModel"]),
    .executable(name: "cdgen", targets: ["cdgen"]),
    .executable(name: "cdstore", targets: ["cdstore"]),
    .executable(name: "todo", targets: ["todo"]),
    .plugin(name: "CDGenPlugin", targets: ["CDGenPlugin"]),
    .plugin(name: "CDGenCommand", targets: ["CDGenCommand"]),
  ],
  traits: [
    // The package manager builds the tools of a plugin for each app that depends on the package, whether the app uses the
    // plugin or not. An app that does not says `traits: []` of its dependency, and compiles the runtime alone.
    .default(enabledTraits: ["Generator"]),
    .trait(name: "Generator", description: "The plugins, and the generator that they run."),
  ],
  dependencies: [
    // The command lines of cdgen, cdstore and todo.
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0")
  ],
  targets: [
    .systemLibrary(
      name: "CLibYAML", pkgConfig: "yaml-0.1",
      providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
    // What a model's attributes hold, and JSON. It is a module of its own so that the compiler does it beside the rest.
    .target(name: "CDValues", swiftSettings: whole),
    .target(name: "CDModel", dependencies: ["CDValues"], swiftSettings: whole),
    // What becomes of objects from one version of a model to the next.
    .target(name: "CDMapping", dependencies: ["CDModel"], swiftSettings: unoptimized),
    .target(
      name: "CDSchema", dependencies: ["CDMapping", "CDModel", "CLibYAML"], swiftSettings: settings),
    // What archives, and the metadata of Core Data's stores, are written in. Foundation's reader recurses as deep, and
    // expands as much, as a file wants.
    .target(name: "CDPropertyList", swiftSettings: settings),
    // Xcode's models and mapping models, read and written without any library of XML.
    .target(
      name: "CDXcode", dependencies: ["CDMapping", "CDModel", "CDSchema", "CDPropertyList"],
      swiftSettings: settings),
    .target(name: "CDGenerator", dependencies: ["CDMapping", "CDModel"], swiftSettings: settings),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    // SQLite's own interface: what a library above it offers beyond that would only stand between the statement and
    // the object, and every user's build would compile it.
    .target(name: "CDRuntime", dependencies: ["CDMapping", "CDModel", "CSQLite"], swiftSettings: whole),
    // Core Data's SQLite stores, read as a format of stores: who has none does not compile it.
    .target(
      name: "CDCoreDataStore",
      dependencies: ["CDRuntime", "CDMapping", "CDModel", "CDPropertyList", "CSQLite"],
      swiftSettings: settings),
    // Bound to no library of tests: it throws and answers, and the test compares.
    .target(name: "CDMigrationTesting", dependencies: ["CDRuntime"], swiftSettings: settings),
    // What cdgen, cdstore and todo write by. Nobody who uses the libraries compiles it.
    .target(
      name: "CDConsole",
      dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")],
      swiftSettings: settings),
    .executableTarget(
      name: "cdgen",
      dependencies: [
        "CDConsole", "CDGenerator", "CDSchema", "CDMapping", "CDModel", "CDXcode",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "cdstore",
      dependencies: [
        "CDConsole", "CDRuntime", "CDSchema", "CDMapping", "CDModel", "CDXcode", "CDCoreDataStore",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "todo",
      dependencies: [
        "CDConsole", "CDRuntime",
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
    // Random numbers that are the same in every run.
    .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: settings),
    // A reference model of the object graph, and random programs that hold the runtime against it.
    .target(
      name: "GraphTester", dependencies: ["CDRuntime", "CDModel", "SeededRandom"], path: "Tests/GraphTester",
      swiftSettings: settings),
    .executableTarget(
      name: "graph-tester", dependencies: ["GraphTester"], path: "Tests/GraphTesterTool",
      swiftSettings: settings),
    .testTarget(name: "GraphTesterTests", dependencies: ["GraphTester"], swiftSettings: settings),
    .testTarget(
      name: "CDModelTests", dependencies: ["CDMapping", "CDModel", "SeededRandom"], swiftSettings: settings),
    .testTarget(
      name: "CDSchemaTests", dependencies: ["CDSchema", "CDMapping", "CDModel", "SeededRandom"],
      exclude: ["Cases"],
      swiftSettings: settings),
    .testTarget(
      name: "CDXcodeTests",
      dependencies: ["CDXcode", "CDPropertyList", "CDSchema", "CDMapping", "CDModel", "SeededRandom"],
      swiftSettings: settings),
    .testTarget(
      name: "CDGeneratorTests",
      dependencies: ["CDGenerator", "CDSchema", "CDMapping", "CDModel", "CDRuntime", "CDCoreDataStore"],
      exclude: ["Cases"], swiftSettings: settings),
    // The expected files of the generator's tests, by links, run against real stores.
    .testTarget(
      name: "GeneratedCodeTests", dependencies: ["CDRuntime", "CDMigrationTesting", "ShadowedNames"],
      swiftSettings: settings),
    // The one whose types have the names of the runtime's: a module of its own, used by the tests above.
    .target(
      name: "ShadowedNames", dependencies: ["CDRuntime"], path: "Tests/ShadowedNames",
      swiftSettings: settings),
    .testTarget(
      name: "CDMigrationTestingTests", dependencies: ["CDMigrationTesting", "CDRuntime"],
      swiftSettings: settings),
    // Files of SQLite's that fail when a test wants it: SQLite's interface for that is C's.
    .target(name: "CFailingVFS", dependencies: ["CSQLite"], path: "Tests/CFailingVFS"),
    .testTarget(
      name: "CDRuntimeTests", dependencies: ["CDRuntime", "CSQLite", "CFailingVFS", "SeededRandom"],
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
      dependencies: ["cdgen", "cdstore", "todo", "CDSchema", "CDMapping", "CDModel", "CSQLite"],
      swiftSettings: settings),
    // A second model whose version files are links to the first's: the same list, with code of the app's own. It is
    // no test target, for that would link the generator twice: as the plugin's tool, and for the tests above.
    .target(
      name: "QuietToDo", dependencies: ["CDRuntime"], path: "Tests/QuietToDo", swiftSettings: settings,
      plugins: ["CDGenPlugin"]),
    // A program that migrates a list of it, to be killed meanwhile.
    .executableTarget(
      name: "migrate-quiet-todo", dependencies: ["QuietToDo"], path: "Tests/QuietToDoMigrator",
      swiftSettings: settings),
    // A program that holds a store open and calls what else takes the same file: see .ci/attack/processes.
    .executableTarget(
      name: "hold-store", dependencies: ["CDCoreDataStore", "CDRuntime", "CDMapping", "CDModel"],
      path: "Tests/StoreHolder", swiftSettings: settings),
    .testTarget(
      name: "ToDoStoryTests", dependencies: ["QuietToDo", "CDMigrationTesting", "CDRuntime"],
      swiftSettings: settings),
    .testTarget(name: "PluginTests", swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
