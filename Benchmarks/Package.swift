// swift-tools-version: 6.1
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// A package of its own, so that who uses cdgen never resolves what only the measurements need.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "cdgen", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
  ],
  targets: [
    .executableTarget(
      name: "bench",
      dependencies: [
        .product(name: "CDGenerator", package: "cdgen"),
        .product(name: "CDRuntime", package: "cdgen"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: settings)
  ],
  swiftLanguageModes: [.v6]
)
