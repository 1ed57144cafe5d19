import CDValues
import Testing

@Suite("SHA-256")
struct SHA256Tests {
  /// From FIPS 180-4's examples and the short messages of NIST's CAVP.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
    ),
  ])
  func `The standard's examples`(text: String, digest: String) {
    #expect(SHA256.digest(of: Array(text.utf8)).description == digest)
  }

  @Test(
    arguments: [
      ([0xd3], "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"),
      ([0x11, 0xaf], "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98"),
      ([0xb4, 0x19, 0x0e], "dff2e73091f6c05e528896c4c831b9448653dc2ff043528f6769437bc7b975c2"),
      ([0x74, 0xba, 0x25, 0x21], "b16aa56be3880d18cd41e68384cf1ec8c17680c45a02b1575dc1518923ae8b0e"),
    ] as [([UInt8], String)])
  func `Bytes of the CAVP's short messages`(bytes: [UInt8], digest: String) {
    #expect(SHA256.digest(of: bytes).description == digest)
  }

  @Test func `A million times a`() {
    #expect(
      SHA256.digest(of: [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)).description
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  /// Computed with coreutils' sha256sum.
  @Test(arguments: [
    (1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
    (54, "a3f01b6939256127582ac8ae9fb47a382a244680806a3f613a118851c1ca1d47"),
    (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
    (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
    (57, "f13b2d724659eb3bf47f2dd6af1accc87b81f09f59f2b75e5c0bed6589dfe8c6"),
    (63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"),
    (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
    (65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"),
    (111, "6374f73208854473827f6f6a3f43b1f53eaa3b82c21c1a6d69a2110b2a79baad"),
    (112, "f54353008a2553262ecdc4a34749563ba0950e8b0fc8652780b0a614b99683c1"),
    (118, "879dc4f05b19ebc3b037f4683633df1332b054cf52fa372d323c421cb893a2aa"),
    (119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
    (120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"),
    (121, "e9615320128cc7a3d6078e9af05603188e5ccbf0d07d8b735d3df5e8e0c1281f"),
    (127, "c57e9278af78fa3cab38667bef4ce29d783787a2f731d4e12200270f0c32320a"),
    (128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"),
    (129, "c12cb024a2e5551cca0e08fce8f1c5e314555cc3fef6329ee994a3db752166ae"),
    (191, "311834ddbafe20677dddbf9f4beb2b5b0b9e6ee97dddb70fce4e8f62c1b7518d"),
    (192, "7cee24628d290c16183532716cc5a8a889bc951b4b0a1507c32b8e29cee01052"),
  ])
  func `Lengths around the borders of blocks`(count: Int, digest: String) {
    #expect(SHA256.digest(of: [UInt8](repeating: UInt8(ascii: "a"), count: count)).description == digest)
  }

  @Test func `A digest reads back from its text`() {
    let digest = SHA256.digest(of: Array("abc".utf8))
    #expect(digest.bytes.prefix(5) == [0xba, 0x78, 0x16, 0xbf, 0x8f])
    #expect(digest.bytes.count == 32)
    #expect(Digest(digest.description) == digest)
    #expect(Digest(digest.description.uppercased()) == digest)
    #expect(Digest("") == nil)
    #expect(Digest(String(digest.description.dropLast())) == nil)
    #expect(Digest(digest.description + "0") == nil)
    #expect(Digest(String(digest.description.dropLast()) + "g") == nil)
  }
}
