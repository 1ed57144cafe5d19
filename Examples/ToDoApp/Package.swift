// swift-tools-version: 6.2
import PackageDescription

// A package of its own: no user of cdgen resolves or compiles Hummingbird.
let package = Package(
  name: "ToDoApp",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "cdgen", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
  ],
  targets: [
    .executableTarget(
      name: "ToDoApp",
      dependencies: [
        .product(name: "CDRuntime", package: "cdgen"),
        .product(name: "Hummingbird", package: "hummingbird"),
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
