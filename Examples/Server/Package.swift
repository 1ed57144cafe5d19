// swift-tools-version: 6.2
import PackageDescription

// A package of its own: no user of cdgen resolves or compiles Hummingbird.
let package = Package(
  name: "LendingServer",
  platforms: [.macOS(.v15)],
  dependencies: [
    // A link to this repository. A package is known by the name of its folder, and a clone's folder can have any name.
    .package(path: "cdgen"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    // Parts of Hummingbird's interface: the logger, and the port that it listens on.
    .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.65.0"),
  ],
  targets: [
    .executableTarget(
      name: "LendingServer",
      dependencies: [
        .product(name: "CDRuntime", package: "cdgen"),
        .product(name: "CDPostgresStore", package: "cdgen"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ],
      plugins: [.plugin(name: "CDGenPlugin", package: "cdgen")])
  ]
)
