// swift-tools-version: 6.2
import PackageDescription

// A package of its own: no user of cdgen resolves or compiles Hummingbird.
let package = Package(
  name: "ToDoApp",
  platforms: [.macOS(.v15)],
  traits: [
    .trait(name: "PostgreSQL", description: "Lists on a PostgreSQL server. They need the system's libpq.")
  ],
  dependencies: [
    // A link to this repository. A package is known by the name of its folder, and a clone's folder can have any name,
    // also that of another package.
    .package(path: "cdgen"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    // Parts of Hummingbird's interface: the logger, the port that it listens on, and signals.
    .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.65.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
  ],
  targets: [
    .executableTarget(
      name: "ToDoApp",
      dependencies: [
        .product(name: "CDRuntime", package: "cdgen"),
        .product(name: "CDPostgresStore", package: "cdgen", condition: .when(traits: ["PostgreSQL"])),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      resources: [.copy("Resources")],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ],
      plugins: [.plugin(name: "CDGenPlugin", package: "cdgen")])
  ]
)
