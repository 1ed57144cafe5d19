public import ArgumentParser
import CDConsole
import CDModel
import CDSchema
public import CDXcode

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `cdgen import`
struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a model of one of Xcode's, with all its versions.",
    discussion: """
      Reads an .xcdatamodeld or .xcdatamodel and makes a folder NAME.cdmodel within the output folder, or the output \
      folder itself where its name ends in .cdmodel. Nothing that exists is overwritten.

        cdgen import App/Library.xcdatamodeld --output Schemas
        cdgen import App/Library.xcdatamodeld --output Schemas --order order.txt --mappings App

      Each version becomes a file. What the schema language cannot say is kept under 'info', and is a warning where \
      it means something outside Xcode; 'cdgen export' puts it back. Then run 'cdgen check', answer the questions in \
      the mapping files, and 'cdgen lock --all'.
      """)

  @Argument(help: "Xcode's model: a folder NAME.xcdatamodeld or NAME.xcdatamodel.", completion: .directory)
  var bundle: String

  @Option(name: .shortAndLong, help: "Where to make the model's folder.", completion: .directory)
  var output: String

  @Option(
    help: ArgumentHelp(
      "A file with the names of the versions, the oldest first, a line each.",
      discussion:
        "Needed where the names have no numbers to go by. 'NAME <- BASE' names what a version follows. "
        + "Versions that are not in it are left out.", valueName: "file"), completion: .file())
  var order: String?

  @Option(
    help: ArgumentHelp(
      "A folder in which to look for mapping models, *.xcmappingmodel.", valueName: "folder"),
    completion: .directory)
  var mappings: String?

  @Option(
    help: ArgumentHelp(
      "What becomes of numbers that may be nil and that classes show as plain values.",
      discussion:
        "'optional' keeps nil: Int32?. 'default' makes them mandatory, with 0 or false where they have no "
        + "default."))
  var scalars: XcodeImportOptions.Scalars = .optional

  @Flag(
    help: ArgumentHelp(
      "Confirm the data that is clearly lost from one version to the next, as Core Data drops it.",
      discussion:
        "Otherwise each loss is a question in the mapping of its step, and 'cdgen diff --accept' confirms those of one."
    ))
  var acceptLosses = false

  func run() throws {
    try reportingFailures {
      let files: [XcodeMappingFile]
      let bundle: XcodeBundle
      do {
        bundle = try XcodeBundle(contentsOf: self.bundle)
        files = try mappings.map(XcodeMappingFile.files(under:)) ?? []
      } catch let error as XcodeBundleError {
        throw Failure(error.path, error.message)
      }
      let importer = XcodeImporter(
        bundle, order: try orderText(), orderPath: order ?? "", mappings: files,
        options: XcodeImportOptions(scalars: scalars, confirmsLosses: acceptLosses))
      let result = importer.run(id: UUID())
      ModelFolder.report(result.diagnostics)
      guard let model = result.model else { throw ExitCode.failure }
      let folder = output.hasSuffix(".cdmodel") ? output : FileSystem.join(output, result.folderName)
      try FileSystem.makeFolder(FileSystem.folder(of: folder))
      try FileSystem.makeNewFolder(folder)
      for (name, text) in result.files.sorted(by: { $0.key < $1.key }) {
        try OutputFile(path: FileSystem.join(folder, name), contents: text).create()
      }
      let count = model.versions.count
      try Console.write(
        line: "\(folder): \(count) version\(count == 1 ? "" : "s"); next run 'cdgen check \(folder)'")
    }
  }

  private func orderText() throws -> String? {
    guard let order else { return nil }
    guard let text = try OutputFile(path: order, contents: "").currentContents() else {
      throw Failure(order, "there is no such file")
    }
    guard !text.unicodeScalars.contains(where: { $0 == "\u{0}" || $0 == "\u{FFFD}" }) else {
      throw Failure(order, "this is not a text; an order names the versions, a line each, the oldest first")
    }
    return text
  }
}

extension XcodeImportOptions.Scalars: ExpressibleByArgument {}
